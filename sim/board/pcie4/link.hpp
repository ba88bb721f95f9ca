// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// One direction of the link: when the last byte of a TLP has crossed it.
//
// Time on the wire comes from what is sent: framing, header, payload and LCRC of each TLP, an
// acknowledge and a credit update DLLP once per acknowledge latency limit (base specification,
// table 3-9, 8.0 GT/s x8), and a skip ordered set every 1538 symbol times. What is sent is never
// interrupted; DLLPs and skips that fall into idle time cost nothing.
// Not modelled: replays, power states, lanes other than 8, rates other than 8 GT/s.
#pragma once

#include "pcie4/tlp.hpp"

namespace lanebox {

class LinkDirection {
public:
    // The acknowledge latency limit depends on the programmed MPS, in bytes.
    void set_mps(unsigned mps);
    // false: bytes take no time, for measuring what the interface alone allows.
    void set_rate_limited(bool limited) { rate_limited_ = limited; }

    // Put a TLP on the wire no earlier than `ready`; returns when its last byte has arrived.
    Time send(Time ready, const Tlp &tlp);
    // What `send` would take on an idle link.
    Time duration(const Tlp &tlp) const;
    Time free_at() const { return free_at_; }

private:
    struct Periodic {
        Time interval, length, next;
    };
    void run_periodic(Periodic &event, Time until);

    bool rate_limited_ = true;
    Time free_at_ = 0;
    Periodic dllps_{203 * kSymbol, 2 * kSymbol, 203 * kSymbol};
    Periodic skip_{1538 * kSymbol, 4 * kSymbol, 1538 * kSymbol};
};

}  // namespace lanebox
