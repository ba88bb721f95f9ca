// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The board's counts since its start or the last clear(), as one line of JSON. Two kinds of counts
// outlive clear(): those of faults count from the start, and those of the peer from its last job.
#pragma once

#include <string>
#include <vector>

#include "machine/json.hpp"
#include "machine/machine.hpp"

namespace lanebox {

class Statistics {
public:
    explicit Statistics(Machine &machine) : machine_(machine) {}

    // Returns the statistics as a line of JSON. `planned` is the number of commands that wait for
    // their cycle.
    std::string text(uint64_t planned) const;
    // Keeps a copy of the counters of the hard block's pins and the user slot in this cycle.
    // text() shows the copies under `marks`, numbered from 0.
    void mark();
    // Sets the counts to 0, and drops the marks. Cycles and CPU time count from now on.
    void clear();

private:
    struct Mark {
        // the cycle of the mark, counted from the last clear(), and the broken rules up to it
        uint64_t cycle, violations;
        StreamCounters cq, cc, rq, rc;
        Slot slot;
    };

    Json marked(const Mark &mark) const;

    Machine &machine_;
    std::vector<Mark> marks_;
    // The cycle of the last clear(). The statistics count cycles from there on.
    uint64_t cleared_at_ = 0;
    // CPU time in seconds that the process had used at the last clear().
    double cpu_cleared_ = 0;
};

}  // namespace lanebox
