// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The hard block's transmit buffer: TLPs that were taken from the pins and wait for the link.
//
// TLPs leave the buffer in order, with one exception: completions need no credit, so they pass
// requests that wait for one.
#pragma once

#include <deque>

#include "host/host_link.hpp"

namespace lanebox {

class TransmitBuffer {
public:
    explicit TransmitBuffer(HostLink &link) : link_(link) {}

    void push(Tlp tlp);  // Adds a TLP of the card, which was taken from the pins at tlp.pins_at.
    void run(Time now);  // Sends to the host the TLPs for which credits have come.
    // Returns true if the buffer is full and holds off the gateware. If `requests` is set, the
    // question is about RQ. Otherwise it is about CC, whose completions do not wait for credits.
    bool full(Time now, bool requests) const;
    bool empty() const { return waiting_.empty(); }
    // Call it when the link was reset. All waiting TLPs are dropped.
    void lose();
    // TLPs that are pushed while the link is down are lost.
    void set_link_up(bool up) { link_up_ = up; }
    // Returns how many TLPs were pushed since the start, interrupts included.
    uint64_t received() const { return received_; }
    // Returns how many requests from RQ have left for the link since the start.
    uint64_t requests_sent() const { return requests_sent_; }

private:
    void send();

    HostLink &link_;
    std::deque<Tlp> waiting_;
    unsigned bytes_ = 0;
    Time now_ = 0;
    bool link_up_ = true;
    uint64_t received_ = 0, requests_sent_ = 0;
};

}  // namespace lanebox
