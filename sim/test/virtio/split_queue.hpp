// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The device's side of a split virtqueue (VirtIO 1.2, 2.7), with indirect descriptors and event
// indices.
//
// A driver that breaks the rules of the queue ends in BadDriver. So does an access to memory that
// the host has not mapped for the card.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "vfio_user/guest_memory.hpp"

namespace lanebox::virtio {

// The driver has broken a rule; the sentence names it.
class BadDriver : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// The host's memory as the card reaches it. Accesses to memory that is not mapped are counted.
class HostMemory {
public:
    explicit HostMemory(vfio_user::GuestMemory &memory) : memory_(memory) {}
    void read(uint64_t address, void *data, size_t bytes);
    void write(uint64_t address, const void *data, size_t bytes);
    uint64_t unmapped() const { return unmapped_; }

private:
    vfio_user::GuestMemory &memory_;
    uint64_t unmapped_ = 0;
};

class SplitQueue {
public:
    struct Buffer {
        uint64_t address;
        uint32_t bytes;
        bool writable;  // by the device
    };
    struct Chain {
        uint16_t head;
        std::vector<Buffer> buffers;
    };

    explicit SplitQueue(HostMemory &memory) : memory_(&memory) {}

    // The place of the queue in host memory, as the driver's registers say.
    uint16_t size = 0;
    uint64_t descriptors = 0, available = 0, used = 0;
    bool ready = false;
    bool event_indices = false;  // the feature EVENT_IDX was chosen

    // Switches the queue on or off. A queue that was off begins at its first entry.
    void switch_on(bool on);
    // Returns the index up to which the driver has made chains available.
    uint16_t available_index();
    // Takes the next chain below `index`, if there is one.
    std::optional<Chain> take(uint16_t index);
    // Gives a chain back, into which the device has written `bytes`. Returns true if the driver
    // wants an interrupt for it.
    bool give(uint16_t head, uint32_t bytes);
    // Asks the driver to notify the device of the next chain.
    void ask_for_notification();

private:
    struct Descriptor {
        uint64_t address;
        uint32_t bytes;
        uint16_t flags, next;
    };
    static_assert(sizeof(Descriptor) == 16);

    Chain follow(uint16_t head);

    HostMemory *memory_;
    uint16_t taken_ = 0, given_ = 0;
};

}  // namespace lanebox::virtio
