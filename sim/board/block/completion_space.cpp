// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "block/completion_space.hpp"

#include <algorithm>

namespace lanebox {

namespace {

constexpr unsigned kCreditBytes = numbers::kCompletionUnitBytes;

// Returns how many aligned blocks of `size` bytes the range [address, address + bytes) touches.
unsigned touched(uint64_t address, unsigned bytes, unsigned size) {
    return static_cast<unsigned>((address + bytes + size - 1) / size - address / size);
}

}  // namespace

unsigned CompletionSpace::Read::headers() const {
    return std::max(touched(address, bytes, rcb), 1u);
}

unsigned CompletionSpace::Read::data() const {
    return touched(address, bytes, kCreditBytes);
}

void CompletionSpace::count(const Read &read, int sign) {
    headers_ += static_cast<unsigned>(sign) * read.headers();
    data_ += static_cast<unsigned>(sign) * read.data();
    reads_ += static_cast<unsigned>(sign);
}

bool CompletionSpace::reserve(const Tlp &read, unsigned rcb) {
    Read &slot = by_tag_[read.tag];
    bool was_free = !slot.outstanding;
    if (!was_free) count(slot, -1);
    slot = {true, read.address, read.dwords * 4, rcb};
    count(slot, 1);
    return was_free;
}

void CompletionSpace::release(const Tlp &completion) {
    Read &slot = by_tag_[completion.tag];
    if (!slot.outstanding) return;
    count(slot, -1);
    slot.outstanding = !completion.request_done;
    if (completion.request_done) return;
    unsigned shown = std::min(completion.payload_bytes(), slot.bytes);
    slot.address += shown;
    slot.bytes -= shown;
    count(slot, 1);
}

}  // namespace lanebox
