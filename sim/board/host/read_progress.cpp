// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "host/read_progress.hpp"

#include <algorithm>

namespace lanebox {

namespace {

// A completion by the card that does not end its read must end at a multiple of 128 bytes (base
// specification 2.3.1.1).
constexpr unsigned kBoundary = 128;

}  // namespace

unsigned ReadProgress::brings(const Tlp &completion) const {
    unsigned skip = static_cast<unsigned>(next_ & 3);
    return std::min(left_, completion.dwords * 4 - std::min(completion.dwords * 4, skip));
}

std::string ReadProgress::wrong(const Tlp &completion, unsigned mps) const {
    unsigned skip = static_cast<unsigned>(next_ & 3);
    unsigned wanted = (skip + left_ + 3) / 4;
    if (completion.byte_count != left_) return "bytes left: " + std::to_string(left_);
    if (completion.address != (next_ & 0x7f))
        return "lower address must be " + std::to_string(next_ & 0x7f);
    if (completion.payload.size() != completion.dwords || completion.dwords == 0 ||
        completion.dwords > wanted)
        return "its length does not fit the " + std::to_string(left_) + " bytes left, " +
               std::to_string(wanted) + " dw";
    if (completion.dwords * 4 > mps) return "payload above MPS";
    if (completion.dwords < wanted && (next_ - skip + completion.dwords * 4) % kBoundary)
        return "it ends inside 128 aligned bytes";
    return {};
}

void ReadProgress::advance(const Tlp &completion) {
    unsigned bytes = brings(completion);
    next_ += bytes;
    left_ -= bytes;
}

}  // namespace lanebox
