// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Reads a script that orders faults, one a line. A line has one of these three forms:
//
// `at NS FAULT [ARGUMENT]` arms the fault when device time has come to NS nanoseconds.
//
// `tlp N FAULT [ARGUMENT]` arms the fault when the card has sent N TLPs on RQ and CC.
//
// `random FAULT RATE` lets the fault strike at each opportunity with a chance of RATE, 0 to 1.
//
// '#' begins a comment. Device time runs only while the card has work, so `at` never strikes an
// idle card.
#pragma once

#include <string>
#include <vector>

#include "faults/faults.hpp"

namespace lanebox {

class FaultScript {
public:
    // Reads the script at `path`; an empty path means no script. A wrong line throws
    // std::invalid_argument, which names the file, the line and the rule.
    FaultScript(const std::string &path, Faults &faults);

    // Arms the faults that are due. `tlps` is the number of TLPs that the card has sent so far.
    void run(Time now, uint64_t tlps) {
        if (now >= next_time_ || tlps >= next_tlp_) arm(now, tlps);
    }

private:
    struct Line {
        bool by_time;
        // When to arm the fault: device time in units of 1/8 ps, or the number of TLPs sent.
        uint64_t when;
        std::string fault;
    };
    void read_line(const std::vector<std::string> &words);
    void arm(Time now, uint64_t tlps);
    void find_next();

    Faults &faults_;
    std::vector<Line> lines_;
    uint64_t next_time_ = ~uint64_t{0}, next_tlp_ = ~uint64_t{0};
};

}  // namespace lanebox
