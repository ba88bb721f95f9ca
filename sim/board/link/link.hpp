// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// One direction of the link: when the last byte of a TLP has crossed it.
//
// Time on the wire comes from what is sent: framing, header, payload and LCRC of each TLP, an
// acknowledge and a credit update DLLP once per acknowledge latency limit (base specification
// 3.5.3.1), and skip ordered sets (4.2.7) at the encoding's own period. A TLP is never interrupted.
// DLLPs and skips that fall into idle time cost nothing. A corrupted TLP is sent twice, with a NAK
// between. TLPs that follow it before the NAK has arrived are only counted once, when they are sent
// again. Not modelled: power states, and the training sequence: a new rate or width holds at once.
#pragma once

#include "pcie4/tlp.hpp"

namespace lanebox {

struct LinkState {
    unsigned generation = 3;  // 1 to 3: 2.5, 5 and 8 GT/s
    unsigned width = 8;       // lanes
    bool operator==(const LinkState &other) const {
        return generation == other.generation && width == other.width;
    }
};

class LinkDirection {
public:
    LinkDirection();

    // The acknowledge latency limit depends on the programmed MPS, in bytes.
    void set_mps(unsigned mps);
    void train(const LinkState &state);
    // false: bytes take no time, for measuring what the interface alone allows.
    void set_rate_limited(bool limited) { rate_limited_ = limited; }

    // Put a TLP on the wire no earlier than `ready`; returns when its last byte has arrived.
    Time send(Time ready, const Tlp &tlp);
    // The next TLP arrives with a wrong LCRC: the receiver refuses it, and the sender sends it
    // again.
    void corrupt_next() { corrupt_next_ = true; }
    // How long `send` takes on an idle link.
    Time duration(const Tlp &tlp) const;
    // How long `count` bytes take on the wire.
    Time bytes(unsigned count) const { return count * symbol_ >> lanes_; }
    Time free_at() const { return free_at_; }
    // How long a receiver may wait before it returns credits.
    Time update_latency() const { return dllps_.interval; }

private:
    struct Periodic {
        Time interval, length, next;
    };
    void schedule();
    void run_periodic(Periodic &event, Time until);

    Time replay() const;

    bool rate_limited_ = true, corrupt_next_ = false;
    LinkState state_;
    unsigned mps_ = 128;
    Time symbol_ = kSymbol;
    unsigned lanes_ = 3;  // log2 of the width: a division in every cycle would cost speed
    Time free_at_ = 0;
    Periodic dllps_{}, skip_{};
};

}  // namespace lanebox
