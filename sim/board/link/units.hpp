// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Time in the model. One unit is 1/8 ps, the largest step in which both the 4 ns user clock and a
// Gen3 symbol time (8 bits at 8 GT/s, stretched by 130/128) are whole numbers. A count of 64 bits
// lasts for 26 days.
#pragma once

#include <cstdint>

#include "link/numbers.hpp"

namespace lanebox {

using Time = uint64_t;

constexpr Time kNanosecond = 8000;
constexpr Time kCycle =
    numbers::kTickNs * kNanosecond;  // one period of user_clk, which has 250 MHz
constexpr Time kSymbol = 8125;       // time of one byte on every lane at 8 GT/s, 128b/130b

constexpr unsigned kBeatDwords =
    numbers::kDwordsPerBeat;  // dwords of a beat: the user interface has 256 bits
// Dwords of PG213's descriptors, which stand in front of the payload.
constexpr unsigned kRequestDescriptorDwords = numbers::kRequestDescriptor / 4;
constexpr unsigned kCompletionDescriptorDwords = numbers::kCompletionDescriptor / 4;

}  // namespace lanebox
