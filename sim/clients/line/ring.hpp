// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The driver's side of a split virtqueue (VirtIO 1.2, 2.7) with EVENT_IDX, in memory that is shared
// with the card. Each chain has one descriptor, with a buffer of its own.
//
// The driver looks at the used ring again and again, so it asks for no interrupt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace lanebox::line {

// The place of a queue in a file of shared memory, whose first byte has the bus address `address`.
struct RingPlace {
    int file;
    uint64_t address;
    size_t used, buffers;  // offsets of the used ring and of the first buffer
    uint32_t buffer_bytes;
    uint16_t size;  // chains
};

class Ring {
public:
    struct Used {
        uint16_t chain;
        uint32_t bytes;  // written by the device
    };

    // The driver has made `offered` chains available already, and the device has used none. A queue
    // that receives has buffers for the device to write. Throws std::runtime_error if the memory
    // cannot be mapped.
    Ring(const RingPlace &place, bool receives, uint16_t offered);
    ~Ring();
    Ring(const Ring &) = delete;
    Ring &operator=(const Ring &) = delete;

    uint16_t size() const { return place_.size; }
    uint32_t buffer_bytes() const { return place_.buffer_bytes; }
    // Returns how many chains are available to the device, or in its work.
    uint16_t held() const { return static_cast<uint16_t>(index_ - seen_); }
    // Returns how many chains the device has used that the driver has not taken.
    uint16_t used() const;
    uint8_t *buffer(uint16_t chain) const;
    // Takes the next chain that the device has used, if there is one.
    std::optional<Used> take();
    // Puts a chain with a buffer of `bytes` into the available ring. publish() shows it.
    void offer(uint16_t chain, uint32_t bytes);
    // Shows the device all chains that were offered. Returns true if it wants a notification.
    bool publish();
    uint16_t index() const { return index_; }  // the index behind the last chain

private:
    template <typename T>
    void put(size_t at, T value);
    template <typename T>
    T get(size_t at) const;

    RingPlace place_;
    bool receives_;
    size_t available_, length_;
    uint8_t *memory_;
    uint16_t index_, shown_, seen_ = 0;
};

}  // namespace lanebox::line
