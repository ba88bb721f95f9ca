// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The interface by which the root complex reaches the host: its memory and interrupt controller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace lanebox {

class Host {
public:
    virtual ~Host() = default;
    // Copies from or to host memory at bus address `address`. Returns false if some byte is not
    // mapped, or not writable. The bytes that are mapped may or may not have been copied.
    virtual bool memory_read(uint64_t address, void *data, size_t bytes) = 0;
    virtual bool memory_write(uint64_t address, const void *data, size_t bytes) = 0;
    // Delivers MSI vector 0. Returns false if no client has an eventfd for it; the interrupt is
    // then lost.
    virtual bool interrupt() = 0;

    // Returns the MSI-X vector whose message is a write of this dword to this address. Returns
    // nothing if the write is not a message.
    virtual std::optional<unsigned> vector_of(uint64_t, uint32_t) { return {}; }
    // Delivers an MSI-X vector to the client. Returns false if no client has an eventfd for it.
    virtual bool interrupt(unsigned) { return false; }
};

}  // namespace lanebox
