// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The interface of the device behind the vfio-user server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace lanebox::vfio_user {

class Device {
public:
    virtual ~Device() = default;

    using ReadDone = std::function<void(const uint8_t *data)>;
    // The access is 1 to 4096 bytes inside the BAR. `done` is called once, later.
    virtual void bar_read(unsigned bar, uint64_t offset, unsigned bytes, ReadDone done) = 0;
    virtual void bar_write(unsigned bar, uint64_t offset, const void *data, unsigned bytes) = 0;
    virtual void config_read(unsigned offset, void *data, unsigned bytes) = 0;
    virtual void config_write(unsigned offset, const void *data, unsigned bytes) = 0;
    virtual bool reset() = 0;  // false: the card did not acknowledge in time
    virtual void left() = 0;   // the client is gone
    virtual uint64_t bar_bytes(unsigned bar) const = 0;  // 0: there is none
    virtual unsigned config_bytes() const = 0;
    virtual unsigned msix_vectors() const = 0;
    // The client listens to this MSI-X vector, or does not any more.
    virtual void msix_vector(unsigned vector, bool used) = 0;
};

}  // namespace lanebox::vfio_user
