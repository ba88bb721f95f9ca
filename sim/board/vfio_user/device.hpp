// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The interface by which the vfio-user server reaches the PCI device that it shows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace lanebox::vfio_user {

// The facts about the PCI device that a client may ask for: sizes and the number of MSI-X vectors.
// These never change.
struct Shape {
    std::array<uint64_t, 6> bar_bytes{};  // bytes of each BAR; 0: the device does not have it
    unsigned config_bytes = 0;
    unsigned msix_vectors = 0;
};

class Device {
public:
    virtual ~Device() = default;

    using ReadDone = std::function<void(const uint8_t *data)>;
    // Reads 1 to 4096 bytes of a BAR. `done` is called once, when the card has answered.
    virtual void bar_read(unsigned bar, uint64_t offset, unsigned bytes, ReadDone done) = 0;
    // Writes `bytes` bytes of a BAR. The call returns before the card has them.
    virtual void bar_write(unsigned bar, uint64_t offset, const void *data, unsigned bytes) = 0;
    // Reads `bytes` bytes of configuration space from `offset` on.
    virtual void config_read(unsigned offset, void *data, unsigned bytes) = 0;
    // Writes `bytes` bytes of configuration space from `offset` on.
    virtual void config_write(unsigned offset, const void *data, unsigned bytes) = 0;
    // Resets the card. Returns false if the card did not acknowledge the reset in time.
    virtual bool reset() = 0;
    virtual void left() = 0;  // Called when the vfio-user client has left.
    // Called when the client has given an eventfd for an MSI-X vector (`used`), or has taken it
    // back (not `used`).
    virtual void msix_vector(unsigned vector, bool used) = 0;
};

}  // namespace lanebox::vfio_user
