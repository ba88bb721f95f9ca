// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "block/transmit_buffer.hpp"

#include <algorithm>
#include <utility>

namespace lanebox {

namespace {

// The transmit buffer is full, and holds off the gateware, when it holds this many bytes of
// payload.
constexpr unsigned kBytes = 2048;
// The transmit buffer is also full when this many TLPs wait in it for credits.
constexpr size_t kTlps = 32;

bool of_user(const Tlp &tlp) {  // Returns true if the TLP is a request from RQ.
    return tlp.type != TlpType::Completion && !tlp.interrupt;
}

}  // namespace

void TransmitBuffer::push(Tlp tlp) {
    received_++;
    if (!link_up_) {
        requests_sent_ += of_user(tlp);
        return;
    }
    bytes_ += tlp.payload_bytes();
    waiting_.push_back(std::move(tlp));
    send();
}

void TransmitBuffer::send() {
    bool blocked = false;
    for (auto tlp = waiting_.begin(); tlp != waiting_.end();) {
        blocked |= !link_.host_takes(*tlp);
        if (blocked && tlp->type != TlpType::Completion) {
            ++tlp;
            continue;
        }
        requests_sent_ += of_user(*tlp);
        bytes_ -= tlp->payload_bytes();
        Time ready = std::max(tlp->pins_at, now_);
        link_.to_host(ready, std::move(*tlp));
        tlp = waiting_.erase(tlp);
    }
}

void TransmitBuffer::run(Time now) {
    now_ = now;
    if (waiting_.empty()) return;
    link_.upstream_credits.update(now);
    send();
}

bool TransmitBuffer::full(Time now, bool requests) const {
    bool waiting = bytes_ >= kBytes || waiting_.size() >= kTlps;
    if (requests && waiting) return true;
    return link_.upstream.free_at() > now + link_.upstream.bytes(kBytes);
}

void TransmitBuffer::lose() {
    waiting_.clear();
    bytes_ = 0;
}

}  // namespace lanebox
