// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Holds the board back, so that it runs no more than `pace` cycles of device time in each second of
// wall-clock time.
#pragma once

#include <chrono>
#include <cstdint>

namespace lanebox {

class Pace {
public:
    // Returns how many milliseconds the board is ahead of `pace` cycles a second. 0: the board is
    // not ahead, or `pace` is 0, which means no limit. A board that is late, because it slept or
    // because the computer is slow, does not catch up.
    int ahead(uint64_t pace, uint64_t cycles) {
        if (!pace) return 0;
        using namespace std::chrono;
        auto now = steady_clock::now();
        auto due = from_ + duration<double>(static_cast<double>(cycles - cycles_) /
                                            static_cast<double>(pace));
        auto early = duration_cast<milliseconds>(due - now).count();
        if (early < -kLate) {
            from_ = now;
            cycles_ = cycles;
        }
        return early > 0 ? static_cast<int>(early) : 0;
    }

private:
    // A board that is more than this many milliseconds late does not catch up.
    static constexpr int kLate = 20;

    uint64_t cycles_ = 0;
    std::chrono::steady_clock::time_point from_;
};

}  // namespace lanebox
