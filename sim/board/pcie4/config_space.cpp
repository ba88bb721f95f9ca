// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "pcie4/config_space.hpp"

#include <cstring>

namespace lanebox {

namespace {

unsigned size_code(unsigned bytes) {  // 128 -> 0, 256 -> 1, ...
    unsigned code = 0;
    while (128u << code < bytes) code++;
    return code;
}

}  // namespace

ConfigSpace::ConfigSpace(const Power &power) : power_(power) {
    reset();
}

void ConfigSpace::set(unsigned offset, uint32_t value, unsigned bytes, uint32_t writable) {
    for (unsigned i = 0; i < bytes; i++) {
        bytes_[offset + i] = static_cast<uint8_t>(value >> 8 * i);
        writable_[offset + i] = static_cast<uint8_t>(writable >> 8 * i);
    }
}

void ConfigSpace::reset() {
    bytes_.fill(0);
    writable_.fill(0);
    set(0x00, 0x903810ee, 4, 0);   // LitePCIe's identifiers for Gen3 x8 on UltraScale+
    set(0x04, 0x0000, 2, 0x0546);  // COMMAND: memory, bus master, parity, SERR, INTx off
    set(0x06, 0x0010, 2, 0);       // STATUS: capability list
    set(0x08, 0x05800000, 4, 0);   // memory controller, other
    set(0x10, 0, 4, ~(power_.bar0_bytes - 1));
    set(0x2c, 0x000710ee, 4, 0);           // subsystem
    set(0x34, 0x40, 1, 0);                 // first capability
    set(0x3c, 0xff, 1, 0xff);              // interrupt line: no pin, scratch for software
    set(0x40, 0x00034801, 4, 0);           // power management, version 3, D0 and D3hot
    set(0x44, 0x0008, 4, 0x0003);          // no soft reset
    set(0x48, 0x00807005, 4, 0x00010000);  // MSI, 64 bit, one vector, no mask bits
    set(0x4c, 0, 4, 0xfffffffc);
    set(0x50, 0, 4, 0xffffffff);
    set(0x54, 0, 2, 0xffff);
    set(0x70, 0x00020010, 4, 0);  // PCI Express version 2 endpoint, last capability
    set(0x74, 0x00008020 | size_code(power_.mps), 4, 0);  // role-based errors, extended tags
    set(0x78, 0x0810, 2, 0x7fff);  // relaxed ordering and no snoop allowed, MPS 128
    bytes_[0x79] = static_cast<uint8_t>((bytes_[0x79] & 0x8f) | size_code(power_.mrrs) << 4);
    set(0x7c, 0x00000083, 4, 0);  // link capabilities: 8 GT/s x8, no ASPM
    set(0x80, power_.rcb == 128 ? 8 : 0, 2, 0x00cb);
    train(power_.link);
    set(0x94, 0x0000000f, 4, 0);  // completion timeout ranges
    set(0x98, 0, 2, 0x001f);
    set(0x9c, 0x0000000e, 4, 0);  // supported speeds
    set(0xa0, 3, 2, 0x000f);      // target link speed 8 GT/s
}

void ConfigSpace::train(const LinkState &link) {
    power_.link = link;
    set(0x82, 0x1000 | link.width << 4 | link.generation, 2, 0);  // link status, slot clock
}

uint32_t ConfigSpace::word(unsigned offset) const {
    uint32_t value;
    memcpy(&value, &bytes_[offset], sizeof value);
    return value;
}

Time ConfigSpace::completion_timeout() const {
    unsigned chosen = byte(0x98);
    if (chosen & 0x10) return 0;
    switch (chosen & 0xf) {
        case 1: return 100'000 * kNanosecond;
        case 2: return 10'000'000 * kNanosecond;
        case 5: return 55'000'000 * kNanosecond;
        case 6: return 210'000'000 * kNanosecond;
        case 9: return 900'000'000 * kNanosecond;
        case 10: return 3'500'000'000 * kNanosecond;
        case 13: return 13'000'000'000 * kNanosecond;
        case 14: return 64'000'000'000 * kNanosecond;
        default: return 50'000'000 * kNanosecond;
    }
}

void ConfigSpace::read(unsigned offset, void *data, unsigned bytes) const {
    memcpy(data, &bytes_[offset], bytes);
}

void ConfigSpace::write(unsigned offset, const void *data, unsigned bytes) {
    const auto *in = static_cast<const uint8_t *>(data);
    for (unsigned i = 0; i < bytes; i++) {
        uint8_t mask = writable_[offset + i];
        bytes_[offset + i] = static_cast<uint8_t>((bytes_[offset + i] & ~mask) | (in[i] & mask));
    }
}

}  // namespace lanebox
