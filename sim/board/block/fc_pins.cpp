// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "block/fc_pins.hpp"

namespace lanebox {

namespace {

Credits selected(const CreditPool &pool, CreditType type, unsigned select) {
    if (pool.infinite(type)) return {};
    switch (select) {
        case 0: return pool.available(type);
        case 1: return pool.limit(type);
        case 2: return pool.consumed(type);
        default: return pool.space(type);
    }
}

}  // namespace

FcPins fc_pins(const CreditPool &transmit, const CreditPool &receive, unsigned select) {
    constexpr unsigned kTransmit = 4, kReserved = 7;
    if (select >= kReserved) return {};
    const CreditPool &pool = select >= kTransmit ? transmit : receive;
    unsigned what = select % kTransmit;
    Credits posted = selected(pool, CreditType::Posted, what);
    Credits reads = selected(pool, CreditType::NonPosted, what);
    Credits completions = selected(pool, CreditType::Completion, what);
    auto data = [](Credits credits) { return static_cast<uint16_t>(credits.data & 0xfff); };
    FcPins pins;
    pins.ph = static_cast<uint8_t>(posted.headers);
    pins.nph = static_cast<uint8_t>(reads.headers);
    pins.cplh = static_cast<uint8_t>(completions.headers);
    pins.pd = data(posted);
    pins.npd = data(reads);
    pins.cpld = data(completions);
    return pins;
}

}  // namespace lanebox
