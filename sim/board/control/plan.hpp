// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Commands of the control socket that wait for a cycle of device time (`at CYCLE COMMAND`).
//
// The cycle at which a client's command takes effect depends on the speed of the machine. A command
// that waits here takes effect in the cycle it names, so a measurement that consists of such
// commands is the same on every machine. While a command waits there is work: device time runs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace lanebox {

class Plan {
public:
    // Throws std::invalid_argument if that cycle has come already: the effect of the command would
    // then depend on the client's speed.
    void add(uint64_t now, uint64_t cycle, const std::string &command);
    // The next command whose cycle has come, in the order of cycles, then of arrival.
    std::optional<std::string> take(uint64_t now);
    bool empty() const { return waiting_.empty(); }
    uint64_t size() const { return waiting_.size(); }
    void clear() { waiting_.clear(); }

private:
    std::multimap<uint64_t, std::string> waiting_;
};

}  // namespace lanebox
