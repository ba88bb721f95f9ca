// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "frames.hpp"

#include <cstring>

namespace lanebox::line {

namespace {

constexpr size_t kNumber = 14, kRest = kNumber + sizeof(uint64_t);

// An EtherType for experiments (IEEE 802), and addresses of two stations.
constexpr uint8_t kHead[kNumber] = {2, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0x88, 0xb5};

}  // namespace

Frame make_frame(Way way, uint64_t number) {
    Frame frame;
    memcpy(frame.data(), kHead, sizeof kHead);
    frame[5] = frame[11] = static_cast<uint8_t>(way);
    memcpy(frame.data() + kNumber, &number, sizeof number);
    uint64_t state = (number << 2 | static_cast<uint64_t>(way)) * 0x9e3779b97f4a7c15u;
    for (size_t at = kRest; at < kFrame; at++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        frame[at] = static_cast<uint8_t>(state);
    }
    return frame;
}

// A frame with a number that was never sent differs in its other bytes, so it counts as changed.
void Account::take(const uint8_t *frame, size_t bytes) {
    uint64_t number = 0;
    if (bytes == kFrame) memcpy(&number, frame + kNumber, sizeof number);
    if (bytes != kFrame || memcmp(frame, make_frame(way_, number).data(), kFrame)) {
        changed_++;
    } else if (number < next_) {
        repeated_++;
    } else {
        frames_++;
        next_ = number + 1;
    }
}

}  // namespace lanebox::line
