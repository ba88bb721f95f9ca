// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "card/configuration.hpp"

#include "card/packets.hpp"
#include "litepcie_capability.h"

namespace lanebox {

namespace {

// Bits of an entry of the register BOOTSTS. It has two entries, of which the newest is in bits 0
// to 7.
constexpr uint32_t kValid = 1 << 0, kByReboot = 1 << 2, kTimeOut = 1 << 3, kIdError = 1 << 4,
                   kCrcError = 1 << 5, kFallback = LITEPCIE_BOOTSTS_FALLBACK;

// Bits of the register TIMER: the watchdog counts while an image runs, or while the part configures
// itself. The lower bits are the value from which it counts down.
constexpr uint32_t kWatchImage = 1u << 31, kWatchConfiguration = 1 << 30, kCount = (1 << 30) - 1;
// While an image runs, the watchdog counts the part's own clock of 50 MHz, divided by 256.
constexpr Time kWatchPeriod = 5120 * kNanosecond;

// The model gives up if this many images in a row only lead to another image (IPROG).
constexpr unsigned kHops = 8;
// Clocks of ICAPE3 from a read of a register until its value is at the output.
constexpr unsigned kReadClocks = 3;

uint32_t error_bit(Image::End end) {
    switch (end) {
        case Image::End::WrongPart: return kIdError;
        case Image::End::WrongCrc: return kCrcError;
        default: return kTimeOut;
    }
}

// Returns a word with the bits of each byte in reverse order, which is the order of ICAPE3's pins.
uint32_t mirrored(uint32_t word) {
    uint32_t result = 0;
    for (unsigned bit = 0; bit < 32; bit++) result |= (word >> bit & 1) << (bit ^ 7);
    return result;
}

}  // namespace

// --- Start ---------------------------------------------------------------------------------------

Boot Configuration::power_on() {
    boot_status_ = warm_boot_ = timer_ = 0;
    watchdog_off_ = false;
    return start(0, false);
}

Image Configuration::load(uint64_t address) {
    Image image = read_image(flash_, address, idcode_, false);
    if (image.timer) timer_ = *image.timer;
    return image;
}

Boot Configuration::start(uint64_t address, bool by_command) {
    synchronised_ = false;
    words_ = 0;
    reading_.reset();
    watched_until_.reset();
    uint32_t status = kValid | (by_command ? kByReboot : 0);
    Image image = load(address);
    for (unsigned hop = 0; image.end == Image::End::Reboot && hop < kHops; hop++) {
        address = uint64_t{image.warm_boot} << 8;
        status |= kByReboot;
        image = load(address);
    }
    if (image.end == Image::End::Good) {
        watchdog_off_ = false;
        note(status);
        return {false, address, image};
    }
    bool endless = image.end == Image::End::Reboot || image.end == Image::End::NoSync;
    if (endless && (watchdog_off_ || !(timer_ & kWatchConfiguration)))
        return {true, address, image};
    note(status | error_bit(image.end));
    return fall_back();
}

Boot Configuration::fall_back() {
    watchdog_off_ = true;
    timer_ = 0;
    Image image = read_image(flash_, 0, idcode_, true);
    if (image.end != Image::End::Good) return {true, 0, image};
    note(kValid | kFallback | (image.has_reboot ? kByReboot : 0));
    return {false, 0, image};
}

// --- watchdog ------------------------------------------------------------------------------------

void Configuration::watch(Time now) {
    watched_until_.reset();
    if (timer_ & kWatchImage) watched_until_ = now + (timer_ & kCount) * kWatchPeriod;
}

bool Configuration::take_timeout(Time now) {
    if (!watched_until_ || now < *watched_until_) return false;
    watched_until_.reset();
    return true;
}

Boot Configuration::time_out() {
    synchronised_ = false;
    words_ = 0;
    reading_.reset();
    boot_status_ |= kTimeOut;
    return fall_back();
}

// --- ICAPE3 --------------------------------------------------------------------------------------

uint32_t Configuration::clock(bool csib, bool rdwrb, uint32_t in, Time now) {
    if (!csib && !last_csib_ && rdwrb != last_rdwrb_ && broken_.size() < 100)
        broken_.push_back("RDWRB changed while CSIB was low: that aborts");
    last_csib_ = csib;
    last_rdwrb_ = rdwrb;
    if (csib) return ~0u;
    if (!rdwrb) {
        take(mirrored(in), now);
        return ~0u;
    }
    bool there = reading_ && ++read_clocks_ >= kReadClocks;
    return there && *reading_ == packets::kBootStatus ? mirrored(boot_status_) : ~0u;
}

void Configuration::take(uint32_t word, Time now) {
    if (!synchronised_) {
        synchronised_ = word == numbers::kBitstreamSync;
        return;
    }
    if (words_) {
        words_--;
        return write(word, now);
    }
    unsigned operation = word >> 27 & 3;
    if (word >> 29 != 1 || operation == 0) return;
    register_ = word >> 13 & 0x1f;
    if (operation == numbers::kBitstreamWrite) words_ = word & 0x7ff;
    if (operation == 1) {
        reading_ = register_;
        read_clocks_ = 0;
    }
}

void Configuration::write(uint32_t word, Time now) {
    if (register_ == packets::kWarmBoot) warm_boot_ = word & 0x1fffffff;
    if (register_ == packets::kTimer && !watchdog_off_) {
        timer_ = word;
        watch(now);
    }
    if (register_ != packets::kCommand) return;
    if (word == packets::kReboot) asked_ = true;
    if (word == packets::kDesync) synchronised_ = false;
}

}  // namespace lanebox
