// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The trace of every TLP at the pins. FILE.pcapng gets the packets themselves, which Wireshark
// opens and `python -m sim.trace` converts; any other name gets a text line for each TLP.
//
// Without a file a TLP costs one test of a pointer.
#pragma once

#include <memory>
#include <string>

#include "pcie4/tlp.hpp"

namespace lanebox {

class TlpLog {
public:
    // One way to write a TLP down.
    class Sink {
    public:
        virtual ~Sink() = default;
        virtual void write(const char *interface, Time at, const Tlp &tlp) = 0;
    };

    // No path: nothing is written. Throws std::runtime_error when the file cannot be made.
    explicit TlpLog(const std::string &path);

    // `interface`: "CQ", "CC", "RQ" or "RC"; `at`: the first beat shown on CQ and RC, the last one
    // taken on RQ and CC.
    void write(const char *interface, Time at, const Tlp &tlp) {
        if (sink_) sink_->write(interface, at, tlp);
    }

private:
    std::unique_ptr<Sink> sink_;
};

}  // namespace lanebox
