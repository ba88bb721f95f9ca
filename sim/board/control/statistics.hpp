// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The board's counts since its start or the last clear(), as one line of JSON.
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
    void mark();
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
    // The cycle of the last clear(). The statistics count cycles from there on.
    uint64_t cleared_at_ = 0;
    double cpu_cleared_ = 0;
};

}  // namespace lanebox
