// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// What the server needs of the device behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace lanebox::vfio_user {

class Device {
public:
    virtual ~Device() = default;

    using ReadDone = std::function<void(const uint8_t *data)>;
    // `bytes` is 1, 2, 4 or 8 and the access lies inside BAR0. `done` is called once, later.
    virtual void bar_read(uint64_t offset, unsigned bytes, ReadDone done) = 0;
    virtual void bar_write(uint64_t offset, const void *data, unsigned bytes) = 0;
    virtual void config_read(unsigned offset, void *data, unsigned bytes) = 0;
    virtual void config_write(unsigned offset, const void *data, unsigned bytes) = 0;
    virtual void reset() = 0;
    virtual uint64_t bar0_bytes() const = 0;
    virtual unsigned config_bytes() const = 0;
};

}  // namespace lanebox::vfio_user
