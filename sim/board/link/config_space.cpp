// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "link/config_space.hpp"

#include <cstring>
#include <utility>

#include "link/config_registers.hpp"

namespace lanebox {

namespace {

// Returns PCIe's code for a size in bytes: 128 -> 0, 256 -> 1, ...
unsigned size_code(unsigned bytes) {
    unsigned code = 0;
    while (128u << code < bytes) code++;
    return code;
}

// Offset of Device Control's upper byte, whose bit 7 is Initiate FLR.
constexpr unsigned kInitiateFlr = config_at::kDeviceControl + 1;

struct Kept {
    unsigned offset, bytes;
    uint32_t mask;
};
// The sticky bits of configuration space, which a hot reset leaves unchanged (base specification
// 7.8.4).
constexpr Kept kSticky[] = {
    {config_at::kAerUncorrectable, 4, ~0u},   {config_at::kAerUncorrectableMask, 4, ~0u},
    {config_at::kAerSeverity, 4, ~0u},        {config_at::kAerCorrectable, 4, ~0u},
    {config_at::kAerCorrectableMask, 4, ~0u}, {config_at::kAerControl, 4, 0x1f},
    {config_at::kAerHeaderLog, 4, ~0u},       {config_at::kAerHeaderLog + 4, 4, ~0u},
    {config_at::kAerHeaderLog + 8, 4, ~0u},   {config_at::kAerHeaderLog + 12, 4, ~0u},
};
// The bits that a function level reset leaves unchanged beside the sticky ones: MPS in Device
// Control, RCB, ASPM and clocking in Link Control, the target speed in Link Control 2.
constexpr Kept kOfTheLink[] = {{config_at::kDeviceControl, 2, PCI_EXP_DEVCTL_PAYLOAD},
                               {config_at::kLinkControl, 2, 0x00cb},
                               {config_at::kLinkControl2, 2, PCI_EXP_LNKCTL2_TLS}};

}  // namespace

ConfigSpace::ConfigSpace(const Power &power) : power_(power) {
    reset();
}

void ConfigSpace::set(unsigned offset, uint32_t value, unsigned bytes, uint32_t writable,
                      uint32_t clearable) {
    for (unsigned i = 0; i < bytes; i++) {
        bytes_[offset + i] = static_cast<uint8_t>(value >> 8 * i);
        writable_[offset + i] = static_cast<uint8_t>(writable >> 8 * i);
        clearable_[offset + i] = static_cast<uint8_t>(clearable >> 8 * i);
    }
}

void ConfigSpace::put(unsigned offset, uint32_t value) {
    changes_++;
    memcpy(&bytes_[offset], &value, sizeof value);
}

void ConfigSpace::reset(Reset kind) {
    const std::array<uint8_t, kSize> before = bytes_;
    bytes_.fill(0);
    writable_.fill(0);
    clearable_.fill(0);
    set_base();
    set_express();
    set_extended();
    flr_in_process_ = power_change_pending_ = false;
    error_messages_ = 0;
    changes_++;
    auto keep = [&](const Kept &kept) {
        for (unsigned i = 0; i < kept.bytes; i++) {
            auto mask = static_cast<uint8_t>(kept.mask >> 8 * i);
            uint8_t &byte = bytes_[kept.offset + i];
            byte = static_cast<uint8_t>((byte & ~mask) | (before[kept.offset + i] & mask));
        }
    };
    if (kind == Reset::Power) return;
    for (const Kept &kept : kSticky) keep(kept);
    if (kind == Reset::Function)
        for (const Kept &kept : kOfTheLink) keep(kept);
}

void ConfigSpace::set_base() {
    // vendor and device ID: those of LitePCIe for Gen3 x8 on UltraScale+
    set(PCI_VENDOR_ID, 0x903810ee, 4, 0);
    // COMMAND: software may write memory, bus master, parity, SERR and INTx off
    set(config_at::kCommand, 0x0000, 2, 0x0546);
    // STATUS: there is a capability list; writing ones clears the error bits
    set(PCI_STATUS, PCI_STATUS_CAP_LIST, 2, 0, 0xf900);
    set(PCI_CLASS_REVISION, 0x05800000, 4, 0);  // class code: memory controller, other
    set(PCI_BASE_ADDRESS_0, 0, 4, ~static_cast<uint32_t>(power_.bar0_bytes - 1));
    if (uint64_t bytes = power_.bar2_bytes) {  // BAR2 is 64-bit and prefetchable.
        uint64_t mask = ~(bytes - 1);
        set(PCI_BASE_ADDRESS_2, PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH, 4,
            static_cast<uint32_t>(mask));
        set(PCI_BASE_ADDRESS_3, 0, 4, static_cast<uint32_t>(mask >> 32));
    }
    set(PCI_SUBSYSTEM_VENDOR_ID, 0x4c4210ee, 4, 0);  // subsystem ID: this project's own number
    set(PCI_CAPABILITY_LIST, numbers::kConfigPower, 1, 0);  // pointer to the first capability
    set(PCI_INTERRUPT_LINE, 0xff, 1, 0xff);  // Interrupt Line, writable by software; no INTx
    // Power management capability: version 3, with D0 and D3hot
    set(numbers::kConfigPower, 0x00030001 | numbers::kConfigMsi << 8, 4, 0);
    set(config_at::kPowerControl, PCI_PM_CTRL_NO_SOFT_RESET, 4, PCI_PM_CTRL_STATE_MASK);
    // MSI capability: 64-bit address, one vector, no mask bits
    set(numbers::kConfigMsi, 0x00800005 | numbers::kConfigExpress << 8, 4, 0x00010000);
    set(config_at::kMsiAddress, 0, 4, 0xfffffffc);
    set(config_at::kMsiAddressHigh, 0, 4, 0xffffffff);
    set(config_at::kMsiData, 0, 2, 0xffff);
    if (const Msix &msix = power_.msix; msix.vectors) {
        bytes_[numbers::kConfigMsi + PCI_CAP_LIST_NEXT] = numbers::kConfigMsix;
        set(numbers::kConfigMsix, 0x11 | numbers::kConfigExpress << 8 | (msix.vectors - 1) << 16, 4,
            0xc0000000);
        set(config_at::kMsixTable, msix.table | msix.bar, 4, 0);
        set(config_at::kMsixPending, msix.pending | msix.bar, 4, 0);
    }
}

void ConfigSpace::set_express() {
    // PCI Express capability: version 2, endpoint, last in the list
    set(numbers::kConfigExpress, 0x00020010, 4, 0);
    set(config_at::kDeviceCapabilities,
        0x00008020 | size_code(power_.mps) | (power_.flr ? unsigned{PCI_EXP_DEVCAP_FLR} : 0), 4, 0);
    // Device Control: relaxed ordering and no snoop allowed, MPS 128 bytes
    set(config_at::kDeviceControl, 0x0810, 2, 0x7fff);
    // Device Status: writing ones clears the four error bits
    set(config_at::kDeviceStatus, 0, 2, 0, 0x000f);
    uint8_t &control = bytes_[config_at::kDeviceControl + 1];
    control = static_cast<uint8_t>((control & 0x8f) | size_code(power_.mrrs) << 4);
    // Link Capabilities: 8 GT/s, x8, no ASPM
    set(config_at::kLinkCapabilities, 0x00000083, 4, 0);
    set(config_at::kLinkControl, power_.rcb == 128 ? PCI_EXP_LNKCTL_RCB : 0, 2, 0x00cb);
    train(power_.link);
    // Device Capabilities 2: all ranges of the completion timeout
    set(config_at::kDeviceCapabilities2, 0x0000000f, 4, 0);
    set(config_at::kDeviceControl2, 0, 2, 0x001f);
    // Link Capabilities 2: 2.5, 5 and 8 GT/s are supported. The target link speed is 8 GT/s.
    set(config_at::kLinkCapabilities2, 0x0000000e, 4, 0);
    set(config_at::kLinkControl2, 3, 2, 0x000f);
}

void ConfigSpace::set_extended() {
    // The error bits that exist in AER's status, mask and severity registers.
    constexpr uint32_t kUncorrectable = 0x0017f030, kCorrectable = 0x000031c1;
    constexpr unsigned kLanes = 8;
    set(numbers::kConfigAer, PCI_EXT_CAP_ID_ERR | 2u << 16 | numbers::kConfigSecondary << 20, 4, 0);
    set(config_at::kAerUncorrectable, 0, 4, 0, kUncorrectable);
    set(config_at::kAerUncorrectableMask, 0, 4, kUncorrectable);
    set(config_at::kAerSeverity, 0x00062030, 4, kUncorrectable);
    set(config_at::kAerCorrectable, 0, 4, 0, kCorrectable);
    set(config_at::kAerCorrectableMask, PCI_ERR_COR_ADV_NFAT, 4, kCorrectable);
    set(numbers::kConfigSecondary, PCI_EXT_CAP_ID_SECPCI | 1u << 16, 4, 0);
    // Lane Error Status: the model never reports an error
    set(config_at::kLaneErrors, 0, 4, 0, 0xff);
    // Lane Equalization Control: no presets or hints were asked for.
    for (unsigned lane = 0; lane < kLanes; lane++)
        set(config_at::kLaneEqualization + 2 * lane, 0x7f00, 2, 0);
}

void ConfigSpace::end_flr() {
    flr_in_process_ = false;
    changes_++;
}

void ConfigSpace::acknowledge_power_change() {
    power_change_pending_ = false;
    changes_++;
}

uint8_t ConfigSpace::take_error_messages() {
    if (error_messages_) changes_++;
    return std::exchange(error_messages_, uint8_t{0});
}

void ConfigSpace::train(const LinkState &link) {
    power_.link = link;
    changes_++;
    // Link Status: rate, width, Slot Clock bit
    set(config_at::kLinkStatus, PCI_EXP_LNKSTA_SLC | link.width << 4 | link.generation, 2, 0);
    // Link Status 2: at 8 GT/s the link is equalised
    set(config_at::kLinkStatus2, link.generation >= 3 ? 0x1e : 0, 2, 0);
}

ConfigSpace::Bar ConfigSpace::bar(unsigned id) const {
    if (id == 0) return {0, word(PCI_BASE_ADDRESS_0) & ~0xfu, power_.bar0_bytes};
    if (id != 2 || power_.bar2_bytes == 0) return {id, 0, 0};
    return {2, uint64_t{word(PCI_BASE_ADDRESS_3)} << 32 | (word(PCI_BASE_ADDRESS_2) & ~0xfu),
            power_.bar2_bytes};
}

ConfigSpace::Bar ConfigSpace::claims(uint64_t address) const {
    Bar second = bar(2);
    return second.claims(address) && !bar(0).claims(address) ? second : bar(0);
}

unsigned ConfigSpace::Bar::aperture_bits() const {
    unsigned bits = 0;
    while (uint64_t{1} << bits < bytes) bits++;
    return bits;
}

uint32_t ConfigSpace::word(unsigned offset) const {
    uint32_t value;
    memcpy(&value, &bytes_[offset], sizeof value);
    return value;
}

// Base specification 7.5.3.16 leaves the device a choice within each range of completion timeouts.
// The model takes the longest time of the range.
Time ConfigSpace::completion_timeout() const {
    unsigned chosen = byte(config_at::kDeviceControl2);
    if (chosen & PCI_EXP_DEVCTL2_COMP_TMOUT_DIS) return 0;
    switch (chosen & PCI_EXP_DEVCTL2_COMP_TIMEOUT) {
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
    PowerState before = power_state();
    changes_++;
    for (unsigned i = 0; i < bytes; i++) {
        uint8_t mask = writable_[offset + i];
        uint8_t &byte = bytes_[offset + i];
        byte = static_cast<uint8_t>((byte & ~mask) | (in[i] & mask));
        byte = static_cast<uint8_t>(byte & ~(clearable_[offset + i] & in[i]));
    }
    after_write(offset, in, bytes, before);
}

void ConfigSpace::after_write(unsigned offset, const uint8_t *in, unsigned bytes,
                              PowerState before) {
    auto written = [&](unsigned at) { return at >= offset && at < offset + bytes; };
    if (written(config_at::kPowerControl)) {
        auto now = static_cast<unsigned>(power_state());
        // D1 and D2 are not supported, so a write of them leaves the power state as it was
        // (5.3.1.4).
        if (now == 1 || now == 2)
            bytes_[config_at::kPowerControl] = static_cast<uint8_t>(
                (bytes_[config_at::kPowerControl] & ~3u) | static_cast<unsigned>(before));
        power_change_pending_ |= power_state() != before;
    }
    if (power_.flr && written(kInitiateFlr) && in[kInitiateFlr - offset] & 0x80) {
        reset(Reset::Function);
        flr_in_process_ = true;
    }
}

}  // namespace lanebox
