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
    // Copies from or to host memory at bus address `address`. false: some byte is not mapped (or
    // not writable); the other bytes may or may not have been copied.
    virtual bool memory_read(uint64_t address, void *data, size_t bytes) = 0;
    virtual bool memory_write(uint64_t address, const void *data, size_t bytes) = 0;
    // Delivers MSI vector 0. false: no client has an eventfd for it, and the interrupt is lost.
    virtual bool interrupt() = 0;

    // The MSI-X vector whose message is a write of this dword to this address, if any is.
    virtual std::optional<unsigned> vector_of(uint64_t, uint32_t) { return {}; }
    // Delivers an MSI-X vector. false: no client has an eventfd for it.
    virtual bool interrupt(unsigned) { return false; }
};

}  // namespace lanebox
