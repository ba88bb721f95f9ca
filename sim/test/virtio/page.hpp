// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// A virtio device behind a page of registers of virtio-mmio version 2 (VirtIO 1.2, 4.2.2). The odd
// queues transmit. What the device answers to a message comes by the queue below.
//
// Registers are 32 bits wide. An access to one that is not an aligned dword is refused and counted;
// only the configuration may be read in other sizes, and this is counted as well.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "answers.hpp"
#include "split_queue.hpp"

namespace lanebox::virtio {

class Page {
public:
    static constexpr uint64_t kBytes = 4096;

    struct Kind {
        unsigned type;                       // 1: net, 3: console
        uint64_t features;                   // beside those that every device here offers
        Bytes configuration;                 // the device's configuration space
        std::function<Bytes(Bytes)> answer;  // makes the answer to a message of the driver
        bool is_stream;                      // an answer may be cut to fit the driver's buffers
    };
    struct Counts {
        uint64_t messages = 0;    // transmitted by the driver
        uint64_t answers = 0;     // received by the driver
        uint64_t dropped = 0;     // answers for which there was no room
        uint64_t kicks = 0;       // notifications of the driver
        uint64_t interrupts = 0;  // of queues and of the configuration
        uint64_t odd = 0;         // accesses that were no aligned dword
        uint64_t broken = 0;      // rules that the driver has broken
    };
    // Called with the source of an interrupt: the number of a queue, or the number of queues for a
    // change of the configuration.
    using Interrupt = std::function<void(unsigned source)>;

    Page(Kind kind, HostMemory &memory, Interrupt interrupt);

    void read(uint64_t offset, uint8_t *data, unsigned bytes);
    void write(uint64_t offset, const uint8_t *data, unsigned bytes);
    void reset();
    // While the page is stuck its status stays as it is, so that a reset does not end.
    void stick(bool stuck) { stuck_ = stuck; }
    // Changes a byte of the configuration and tells the driver.
    void configure(size_t offset, uint8_t value);

    const Counts &counts() const { return counts_; }
    uint64_t features() const { return chosen_; }
    uint32_t status() const { return status_; }
    // Returns how many queues have their descriptors above 4 GiB.
    unsigned far_queues() const;

private:
    uint32_t register_value(uint64_t offset);
    void set_register(uint64_t offset, uint32_t value);
    void set_status(uint32_t status);
    void set_address(uint64_t SplitQueue::*address, bool high, uint32_t value);
    void notified(uint32_t value);
    void transmit(unsigned number, uint16_t index);
    void deliver(unsigned number);
    bool deliver_one(unsigned number, uint16_t index);
    Bytes collect(const SplitQueue::Chain &chain);
    void interrupt(unsigned source);
    SplitQueue &selected() { return queues_[selected_ < queues_.size() ? selected_ : 0]; }

    Kind kind_;
    HostMemory &memory_;
    Interrupt interrupt_;
    std::vector<SplitQueue> queues_;
    std::deque<Bytes> waiting_;  // answers that wait for a buffer of the driver
    Counts counts_;
    uint64_t chosen_ = 0;
    uint32_t offered_half_ = 0, chosen_half_ = 0, selected_ = 0;
    uint32_t status_ = 0, interrupt_status_ = 0, generation_ = 0;
    bool stuck_ = false;
};

}  // namespace lanebox::virtio
