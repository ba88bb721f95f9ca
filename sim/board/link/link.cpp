// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "link/link.hpp"

#include <algorithm>
#include <utility>

namespace lanebox {

namespace {

// Bytes of a DLLP on the link: 6 bytes, with start and end symbols or a token around them.
constexpr unsigned kDllpBytes = 8;
constexpr unsigned kLcrcBytes = 4;

// The properties of the link's encoding, by generation. 8b/10b (generations 1 and 2) has a start
// and an end symbol around a TLP, and a sequence number of 2 bytes. 128b/130b (generation 3) has a
// start token of 4 bytes, which carries the sequence number, and no end symbol.
struct Encoding {
    Time symbol;  // the time in which every lane of the link moves one byte
    // The receiver's internal delay in the acknowledge latency limit, in symbol times.
    unsigned internal;
    // Bytes of a TLP on the link beside header, payload and LCRC: framing and sequence number.
    unsigned framing;
    // Symbol times from one skip ordered set to the next. 128b/130b: 370 blocks of 16.
    unsigned skip_period;
    unsigned skip_symbols;  // symbols that each lane sends for a skip ordered set
    // Bytes that are sent once for each skip ordered set: the end of data stream token.
    unsigned skip_bytes;
};

constexpr Encoding kEncodings[] = {{4 * kNanosecond, 19, 1 + 2 + 1, 1538, 4, 0},
                                   {2 * kNanosecond, 70, 1 + 2 + 1, 1538, 4, 0},
                                   {kSymbol, 115, 4, 370 * 16, 16, 4}};

const Encoding &encoding(unsigned generation) {
    return kEncodings[generation - 1];
}

unsigned header_bytes(const Tlp &tlp) {
    bool three_dwords = tlp.type == TlpType::Completion || tlp.address >> 32 == 0;
    return three_dwords ? 12 : 16;
}

// Returns the acknowledge factor of the base specification's tables 3-7 to 3-9, in tenths, by
// payload size in bytes and link width in lanes. cocotbext-pcie and Linux' cxgb3 driver have the
// same values (test_link.py).
unsigned acknowledge_factor(unsigned mps, unsigned width) {
    if (mps > 256) return width > 8 ? 20 : 10;
    return width <= 4 ? 14 : width <= 8 ? 25 : 30;
}

}  // namespace

LinkDirection::LinkDirection() {
    schedule();
    dllps_.next = dllps_.interval;
    skip_.next = skip_.interval;
}

void LinkDirection::schedule() {
    // Bytes of a TLP besides its payload, as the acknowledge latency limit counts them.
    constexpr unsigned kTlpOverhead = 28;
    const Encoding &line = encoding(state_.generation);
    unsigned factor = acknowledge_factor(mps_, state_.width);
    unsigned limit = (mps_ + kTlpOverhead) * factor / (10 * state_.width) + line.internal;
    symbol_ = line.symbol;
    lanes_ = 0;
    while (1u << lanes_ < state_.width) lanes_++;
    dllps_.interval = limit * symbol_;
    dllps_.length = bytes(2 * kDllpBytes);
    skip_.interval = line.skip_period * symbol_;
    skip_.length = line.skip_symbols * symbol_ + bytes(line.skip_bytes);
}

void LinkDirection::set_mps(unsigned mps) {
    mps_ = mps;
    schedule();
}

void LinkDirection::train(const LinkState &state) {
    if (state_ == state) return;
    state_ = state;
    schedule();
}

Time LinkDirection::duration(const Tlp &tlp) const {
    if (!rate_limited_) return 0;
    unsigned framing = encoding(state_.generation).framing;
    return bytes(framing + header_bytes(tlp) + tlp.payload_bytes() + kLcrcBytes);
}

void LinkDirection::run_periodic(Periodic &event, Time until) {
    // DLLPs or skips that were due before fell into idle time, so they cost nothing.
    if (event.next + event.interval < until)
        event.next += (until - event.next) / event.interval * event.interval;
    while (event.next <= until) {
        free_at_ = std::max(free_at_, event.next) + event.length;
        event.next += event.interval;
    }
}

// Returns the time from the end of a corrupted TLP to its repetition: the delays of both ends, and
// the NAK DLLP.
Time LinkDirection::replay() const {
    return encoding(state_.generation).internal * symbol_ + bytes(kDllpBytes);
}

Time LinkDirection::send(Time ready, const Tlp &tlp) {
    if (!rate_limited_) return free_at_ = std::max(free_at_, ready);
    Time start = std::max(ready, free_at_);
    run_periodic(dllps_, start);
    run_periodic(skip_, start);
    free_at_ = std::max(ready, free_at_) + duration(tlp);
    if (std::exchange(corrupt_next_, false)) free_at_ += replay() + duration(tlp);
    return free_at_;
}

}  // namespace lanebox
