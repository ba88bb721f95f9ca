// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// A line of Ethernet in one direction, on which frames take time. A frame has a preamble in front,
// a checksum (FCS) behind it, and a gap before the next frame. A frame of less than 60 bytes takes
// the time of one that is padded to 60.
#pragma once

#include <algorithm>
#include <cstddef>

#include "link/units.hpp"

namespace lanebox {

class Line {
public:
    static constexpr size_t kPreamble = 8, kFcs = 4, kGap = 12, kShortest = 60;

    // The times at which a frame begins on the line, and at which its last byte arrives.
    struct Slot {
        Time start, end;
    };

    // `gigabits` is the rate in Gbit/s.
    explicit Line(unsigned gigabits) : byte_(byte_time(gigabits)) {}

    // Sends a frame of `bytes` bytes, without its FCS, at `now` or when the line is free.
    Slot send(size_t bytes, Time now) {
        Time start = std::max(free_, now);
        Time end = start + (kPreamble + std::max(bytes, kShortest) + kFcs) * byte_;
        free_ = end + kGap * byte_;
        return {start, end};
    }

private:
    // The time of a byte is a whole number of the unit of Time at 10, 25 and 40 Gbit/s.
    static constexpr Time byte_time(unsigned gigabits) { return 8 * kNanosecond / gigabits; }

    Time byte_, free_ = 0;
};

}  // namespace lanebox
