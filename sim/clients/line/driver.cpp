// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "driver.hpp"

#include <algorithm>
#include <cstring>

namespace lanebox::line {

namespace {

constexpr uint16_t kReceive = 0, kTransmit = 1;  // numbers of the queues

// The header in front of a frame (VirtIO 1.2, 5.1.6). The driver sends zeros, and in a received
// frame only `num_buffers` is not 0.
constexpr size_t kHeader = 12;
constexpr uint8_t kReceived[kHeader] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0};

}  // namespace

Driver::Driver(Board &board, uint64_t doorbell, Ring &receive, Ring &transmit, Order order)
    : board_(board),
      doorbell_(doorbell),
      receive_(receive),
      transmit_(transmit),
      order_(order),
      least_buffers_(receive.size()),
      least_frames_(transmit.size()) {
    for (uint16_t chain = 0; chain < transmit.size(); chain++) free_.push_back(chain);
}

// Takes a chain out of those that were freed, the oldest at the front. One must be there.
uint16_t Driver::next(std::deque<uint16_t> &free) const {
    const uint16_t chain = order_ == Order::Last ? free.back() : free.front();
    order_ == Order::Last ? free.pop_back() : free.pop_front();
    return chain;
}

// With NOTIFICATION_DATA the available index stands beside the number of the queue.
void Driver::notify(uint16_t queue, Ring &ring) {
    if (ring.publish()) board_.write(doorbell_, uint32_t{ring.index()} << 16 | queue);
}

// A frame whose header is wrong counts as changed, as one without any byte does.
void Driver::receive(Account &account) {
    std::deque<uint16_t> free;
    while (auto used = receive_.take()) {
        const uint8_t *buffer = receive_.buffer(used->chain);
        const bool right = used->bytes >= kHeader && !memcmp(buffer, kReceived, kHeader);
        account.take(buffer + kHeader, right ? used->bytes - kHeader : 0);
        free.push_back(used->chain);
    }
    while (!free.empty()) receive_.offer(next(free), receive_.buffer_bytes());
    notify(kReceive, receive_);
}

void Driver::transmit(uint64_t limit) {
    while (auto used = transmit_.take()) free_.push_back(used->chain);
    for (; !free_.empty() && sent_ < limit; sent_++) {
        const uint16_t chain = next(free_);
        const Frame frame = make_frame(Way::H2c, sent_);
        memset(transmit_.buffer(chain), 0, kHeader);
        memcpy(transmit_.buffer(chain) + kHeader, frame.data(), kFrame);
        transmit_.offer(chain, kHeader + kFrame);
    }
    notify(kTransmit, transmit_);
}

void Driver::serve(Account &account, uint64_t limit) {
    const unsigned buffers = receive_.held() - receive_.used();
    const unsigned frames = transmit_.held() - transmit_.used();
    if (sent_ && sent_ < limit) {
        least_buffers_ = std::min(least_buffers_, buffers);
        least_frames_ = std::min(least_frames_, frames);
    }
    receive(account);
    transmit(limit);
}

}  // namespace lanebox::line
