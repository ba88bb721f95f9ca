// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Commands of the control socket that wait for a cycle of device time (`at CYCLE COMMAND`).
//
// The cycle at which other commands take effect depends on the speed of the computer. A planned
// command takes effect in the cycle that it names, so a measurement that consists of planned
// commands is the same on every computer. Device time runs while a planned command waits.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace lanebox {

class Plan {
public:
    // Plans a command. Throws std::invalid_argument if its cycle has come already, because the
    // command's effect would then depend on the speed of the computer.
    void add(uint64_t now, uint64_t cycle, const std::string &command);
    // Takes the next planned command whose cycle has come, in the order of cycles, then of arrival.
    // Returns nothing if no command is due.
    std::optional<std::string> take(uint64_t now);
    bool empty() const { return waiting_.empty(); }
    uint64_t size() const { return waiting_.size(); }
    void clear() { waiting_.clear(); }

private:
    std::multimap<uint64_t, std::string> waiting_;
};

}  // namespace lanebox
