// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// One direction of the link. This class computes when the last byte of a TLP has crossed it.
//
// The following take time on the link: framing, header, payload and LCRC of each TLP; an
// acknowledge and a credit update DLLP once per acknowledge latency limit (base specification
// 3.5.3.1); skip ordered sets (4.2.7) at the encoding's own period. A TLP is never interrupted.
// DLLPs and skips that fall into idle time cost nothing.
//
// A corrupted TLP is sent twice, with a NAK between. On a real link the TLPs that were sent behind
// it before the NAK has arrived are sent again as well; the model leaves their first transmission
// out. Link power states and the training sequence are not modelled: a new rate or width holds at
// once.
#pragma once

#include "link/tlp.hpp"

namespace lanebox {

struct LinkState {
    unsigned generation = 3;  // link generation, 1 to 3: 2.5, 5 and 8 GT/s
    unsigned width = 8;       // number of lanes of the link
    bool operator==(const LinkState &other) const {
        return generation == other.generation && width == other.width;
    }
};

class LinkDirection {
public:
    // A link of generation 3 with 8 lanes and an MPS of 128 bytes.
    LinkDirection();

    // Sets the programmed MPS in bytes. The acknowledge latency limit depends on it.
    void set_mps(unsigned mps);
    // Sets the link's generation and width, which hold from the next TLP on.
    void train(const LinkState &state);
    // With `limited` false, bytes take no time on the link. This measures what the hard block's
    // pins alone allow.
    void set_rate_limited(bool limited) { rate_limited_ = limited; }

    // Sends a TLP no earlier than `ready`, and not before the link is free. Returns the time at
    // which its last byte has arrived.
    Time send(Time ready, const Tlp &tlp);
    // Lets the next TLP arrive with a wrong LCRC: the receiver refuses it, and it is sent again.
    void corrupt_next() { corrupt_next_ = true; }
    // Returns how long a TLP takes on an idle link.
    Time duration(const Tlp &tlp) const;
    // Returns how long `count` bytes take on the link.
    Time bytes(unsigned count) const { return count * symbol_ >> lanes_; }
    // Returns the time at which the last byte of all sent TLPs has arrived.
    Time free_at() const { return free_at_; }
    // Returns how long a receiver may wait before it returns credits.
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
    unsigned lanes_ = 3;  // log2 of the number of lanes, since a shift is faster than a division
    Time free_at_ = 0;
    Periodic dllps_{}, skip_{};
};

}  // namespace lanebox
