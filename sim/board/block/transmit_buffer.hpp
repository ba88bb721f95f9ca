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

    void push(Tlp tlp);  // adds a TLP that was taken from the pins at tlp.pins_at
    void run(Time now);  // sends the TLPs for which credits have come
    // Returns true if the buffer is full and holds off the gateware. If `requests` is set, the
    // question is about RQ. Otherwise it is about CC, whose completions do not wait for credits.
    bool full(Time now, bool requests) const;
    bool empty() const { return waiting_.empty(); }
    void lose();                                     // the link was reset: drops all TLPs
    void set_link_up(bool up) { link_up_ = up; }     // TLPs pushed while the link is down are lost
    uint64_t received() const { return received_; }  // TLPs taken from the pins since the start
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
