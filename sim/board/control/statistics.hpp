// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// What the board has counted since its start or the last clear(), as one line of JSON.
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
    void mark();  // keeps a copy of the counters at the hard block's pins in this cycle
    void clear();

private:
    struct Mark {
        uint64_t cycle, violations;
        StreamCounters cq, cc, rq, rc;
        Slot slot;
    };

    Json marked(const Mark &mark) const;

    Machine &machine_;
    std::vector<Mark> marks_;
    uint64_t cleared_at_ = 0;  // the cycle of the last clear(), from which cycles are counted
    double cpu_cleared_ = 0;
};

}  // namespace lanebox
