// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Type 0 configuration space as PCIE4 shows it: power management at 0x40, MSI at 0x48, PCI Express
// at 0x70, and nothing where silicon has nothing (PG213: the user's windows are 0xB0-0xBF and
// 0x480-0x4FF, unused here).
//
// Writes obey each register's read-only bits; what a write changes is seen by the hard block on the
// next clock. One function, one 32-bit BAR, one MSI vector without mask bits.
#pragma once

#include <array>
#include <cstdint>

#include "pcie4/link.hpp"

namespace lanebox {

class ConfigSpace {
public:
    static constexpr unsigned kSize = 4096;

    struct Power {      // what is fixed when the card powers on
        unsigned mps;   // bytes, the largest payload that Device Capabilities advertise
        unsigned mrrs;  // bytes, Device Control's read request size
        unsigned rcb;   // bytes, 64 or 128
        unsigned bar0_bytes;
        LinkState link = {};  // what the link trained to
    };

    explicit ConfigSpace(const Power &power);

    void reset();  // conventional or hot reset: Device Control and COMMAND fall back
    void read(unsigned offset, void *data, unsigned bytes) const;
    void write(unsigned offset, const void *data, unsigned bytes);

    // The link trained to another rate or width; Link Status says so.
    void train(const LinkState &link);
    const LinkState &link() const { return power_.link; }

    // Device Control 2, the upper end of the range that was chosen; 0: the card waits for ever.
    Time completion_timeout() const;
    bool memory_enabled() const { return byte(0x04) & 2; }
    bool bus_master() const { return byte(0x04) & 4; }
    bool msi_enabled() const { return byte(0x4a) & 1; }
    bool relaxed_ordering() const { return byte(0x78) & 0x10; }
    bool extended_tags() const { return byte(0x79) & 1; }
    unsigned mps() const { return 128u << (byte(0x78) >> 5); }
    unsigned mrrs() const { return 128u << (byte(0x79) >> 4 & 7); }
    unsigned rcb() const { return byte(0x80) & 8 ? 128 : 64; }
    uint32_t bar0() const { return word(0x10) & ~0xfu; }

private:
    uint8_t byte(unsigned offset) const { return bytes_[offset]; }
    uint32_t word(unsigned offset) const;
    void set(unsigned offset, uint32_t value, unsigned bytes, uint32_t writable);

    Power power_;
    std::array<uint8_t, kSize> bytes_{};
    std::array<uint8_t, kSize> writable_{};
};

}  // namespace lanebox
