// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Numbered frames in one direction: making them, and an account of those that arrive.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace lanebox::line {

// A frame of 64 bytes on the line has 60 bytes without its FCS.
constexpr size_t kFrame = 60;
using Frame = std::array<uint8_t, kFrame>;

enum class Way : uint8_t { H2c = 1, C2h = 2 };

// Returns frame `number` of a direction. All bytes behind the number depend on it.
Frame make_frame(Way way, uint64_t number);

// Frames are expected in the order of their numbers, each once.
class Account {
public:
    explicit Account(Way way) : way_(way) {}

    void take(const uint8_t *frame, size_t bytes);
    uint64_t frames() const { return frames_; }      // as they were sent, each counted once
    uint64_t repeated() const { return repeated_; }  // frames whose number had come or was passed
    uint64_t changed() const { return changed_; }    // frames that differ from the one sent
    uint64_t taken() const { return frames_ + repeated_ + changed_; }

private:
    Way way_;
    uint64_t next_ = 0;  // the number that is expected
    uint64_t frames_ = 0, repeated_ = 0, changed_ = 0;
};

}  // namespace lanebox::line
