// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// What the root complex reaches on the host: memory and the interrupt controller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace lanebox {

class Host {
public:
    virtual ~Host() = default;
    // Copy to or from host memory at bus address `address`; false when some byte is not mapped (or
    // not writable), in which case nothing is promised about the rest.
    virtual bool memory_read(uint64_t address, void *data, size_t bytes) = 0;
    virtual bool memory_write(uint64_t address, const void *data, size_t bytes) = 0;
    // Deliver MSI vector 0; false when nobody listens, the interrupt is then lost.
    virtual bool interrupt() = 0;

    // The MSI-X vector that a write of the card with this address and data stands for, if any, and
    // its delivery: false, nobody listens.
    virtual std::optional<unsigned> vector_of(uint64_t, uint32_t) { return {}; }
    virtual bool interrupt(unsigned) { return false; }
};

}  // namespace lanebox
