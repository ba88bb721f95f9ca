// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "pcie4/link.hpp"

#include <algorithm>

namespace lanebox {

namespace {

constexpr unsigned kLanes = 8;
constexpr unsigned kStpBytes = 4;   // start token, carries the sequence number
constexpr unsigned kLcrcBytes = 4;  // Gen3 TLPs have no end token

unsigned header_bytes(const Tlp &tlp) {
    bool three_dwords = tlp.type == TlpType::Completion || tlp.address >> 32 == 0;
    return three_dwords ? 12 : 16;
}

}  // namespace

void LinkDirection::set_mps(unsigned mps) {
    dllps_.interval = (mps <= 128 ? 163 : mps <= 256 ? 203 : 182) * kSymbol;
}

Time LinkDirection::duration(const Tlp &tlp) const {
    if (!rate_limited_) return 0;
    unsigned bytes = kStpBytes + header_bytes(tlp) + tlp.payload_bytes() + kLcrcBytes;
    return bytes * kSymbol / kLanes;
}

void LinkDirection::run_periodic(Periodic &event, Time until) {
    if (event.next + event.interval < until)  // all but the last one fell into idle time
        event.next += (until - event.next) / event.interval * event.interval;
    while (event.next <= until) {
        free_at_ = std::max(free_at_, event.next) + event.length;
        event.next += event.interval;
    }
}

Time LinkDirection::send(Time ready, const Tlp &tlp) {
    if (!rate_limited_) return free_at_ = std::max(free_at_, ready);
    Time start = std::max(ready, free_at_);
    run_periodic(dllps_, start);
    run_periodic(skip_, start);
    free_at_ = std::max(ready, free_at_) + duration(tlp);
    return free_at_;
}

}  // namespace lanebox
