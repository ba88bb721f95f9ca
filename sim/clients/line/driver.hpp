// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// A driver of the card's net device that keeps both rings full: each frame that was sent makes room
// for the next one, and each buffer that was received is given back at once.
//
// The card guesses which descriptor comes next and reads it ahead, so the order in which the driver
// uses its chains matters. In Order::Turn they follow one another. In Order::Last the chain that
// was freed last is used first, as in Linux, so the chains of each turn come backwards.
#pragma once

#include <cstdint>
#include <deque>

#include "board.hpp"
#include "frames.hpp"
#include "ring.hpp"

namespace lanebox::line {

enum class Order { Turn, Last };

class Driver {
public:
    // `doorbell` is the place of the device's notification register in BAR0. The receive ring is
    // full already, the transmit ring is empty.
    Driver(Board &board, uint64_t doorbell, Ring &receive, Ring &transmit, Order order);

    // Carries out a turn: takes the received frames into `account` and gives their buffers back,
    // and fills the transmit ring with frames up to frame `limit`.
    void serve(Account &account, uint64_t limit);
    // The fewest chains in each ring that the device had not used yet when a turn began. Turns that
    // have no further frame to send do not count.
    unsigned least_buffers() const { return least_buffers_; }
    unsigned least_frames() const { return least_frames_; }

private:
    void receive(Account &account);
    void transmit(uint64_t limit);
    void notify(uint16_t queue, Ring &ring);
    uint16_t next(std::deque<uint16_t> &free) const;

    Board &board_;
    uint64_t doorbell_;
    Ring &receive_, &transmit_;
    Order order_;
    std::deque<uint16_t> free_;  // chains of the transmit ring that the driver has
    uint64_t sent_ = 0;          // frames in the transmit ring or gone
    unsigned least_buffers_, least_frames_;
};

}  // namespace lanebox::line
