// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "block/completion_source.hpp"

#include <algorithm>
#include <utility>

namespace lanebox {

namespace {

constexpr unsigned kSecondLane = 4;

// Returns byte enables of a beat: 4 bits are set for each dword lane from `from` to `to` - 1.
uint32_t lanes(unsigned from, unsigned to) {
    uint64_t bits = (uint64_t{1} << 4 * to) - (uint64_t{1} << 4 * from);
    return static_cast<uint32_t>(bits);
}

}  // namespace

unsigned CompletionSource::taken() {
    unsigned ended = std::exchange(ended_, 0);
    showing_ = false;
    next_ = {};
    used_ = 0;
    if (position_ < packet_.size()) place();
    return ended;
}

bool CompletionSource::room() const {
    if (showing_ || position_ < packet_.size()) return false;
    return used_ == 0 || (straddle_ && used_ <= kSecondLane);
}

void CompletionSource::load(std::vector<uint32_t> packet, unsigned descriptor_dwords) {
    packet_ = std::move(packet);
    position_ = 0;
    descriptor_dwords_ = descriptor_dwords;
    if (used_) used_ = kSecondLane;
    place();
}

void CompletionSource::place() {
    bool begins = position_ == 0;
    auto count =
        static_cast<unsigned>(std::min<size_t>(kBeatDwords - used_, packet_.size() - position_));
    std::copy_n(packet_.begin() + static_cast<std::ptrdiff_t>(position_), count,
                next_.beat.data.begin() + used_);
    unsigned payload = begins ? std::min(count, descriptor_dwords_) : 0;
    next_.byte_en |= lanes(used_ + payload, used_ + count);
    if (begins) next_.sof = static_cast<uint8_t>(next_.sof << 1 | 1);
    used_ += count;
    position_ += count;
    bool ends = position_ == packet_.size();
    ended_ += ends;
    if (straddle_ && ends) {
        uint8_t &eof = next_.eof0 ? next_.eof1 : next_.eof0;
        eof = static_cast<uint8_t>(1 | (used_ - 1) << 1);
    }
    next_.beat.valid = true;
    next_.beat.last = ends && !straddle_;
    next_.beat.keep = straddle_ ? 0xff : static_cast<uint8_t>((1u << used_) - 1);
}

const RcBeat &CompletionSource::show() {
    showing_ = next_.beat.valid;
    return next_;
}

}  // namespace lanebox
