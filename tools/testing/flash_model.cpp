// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The model of the flash and of the part's configuration logic, as a library for Python.

#include <cstring>

#include "card/configuration.hpp"
#include "card/flash_chip.hpp"

using lanebox::Boot;
using lanebox::Configuration;
using lanebox::FlashChip;

extern "C" {

void *flash_new(uint32_t identification, uint64_t size, int flag_status, uint64_t divisor,
                uint64_t seed) {
    return new FlashChip({identification, size, flag_status != 0}, divisor, seed);
}

void flash_delete(FlashChip *chip) {
    delete chip;
}

int flash_pins(FlashChip *chip, int cs_n, int sck, int mosi, uint64_t nanoseconds) {
    return chip->pins(cs_n, sck, mosi, nanoseconds * lanebox::kNanosecond);
}

// Makes a transfer in SPI mode 0 from `nanoseconds` on: sends `sent` bytes, then takes `taken`.
// Returns the time at its end. Half a period of SCK takes 10 ns.
uint64_t flash_transfer(FlashChip *chip, uint64_t nanoseconds, const uint8_t *out, uint64_t sent,
                        uint8_t *in, uint64_t taken) {
    auto pins = [&](bool cs_n, bool sck, bool mosi) {
        nanoseconds += 10;
        return chip->pins(cs_n, sck, mosi, nanoseconds * lanebox::kNanosecond);
    };
    pins(false, false, false);
    for (uint64_t n = 0; n < sent + taken; n++) {
        uint8_t value = 0;
        for (int bit = 7; bit >= 0; bit--) {
            bool mosi = n < sent && (out[n] >> bit & 1);
            value = static_cast<uint8_t>(value << 1 | pins(false, false, mosi));
            pins(false, true, mosi);
        }
        if (n >= sent) in[n - sent] = value;
    }
    pins(false, false, false);
    pins(true, false, false);
    return nanoseconds;
}

int flash_busy(FlashChip *chip, uint64_t nanoseconds) {
    return chip->busy(nanoseconds * lanebox::kNanosecond);
}

int flash_write_enabled(FlashChip *chip) {
    return chip->write_enabled();
}

int flash_selected(FlashChip *chip) {
    return chip->selected();
}

void flash_lose_power(FlashChip *chip, uint64_t nanoseconds) {
    chip->lose_power(nanoseconds * lanebox::kNanosecond);
}

void flash_load(FlashChip *chip, uint64_t address, const uint8_t *data, uint64_t bytes) {
    for (uint64_t i = 0; i < bytes; i++) chip->memory().write(address + i, data[i]);
}

void flash_contents(FlashChip *chip, uint64_t address, uint8_t *data, uint64_t bytes) {
    for (uint64_t i = 0; i < bytes; i++) data[i] = chip->memory().read(address + i);
}

void flash_keep_in(FlashChip *chip, const char *path) {
    chip->memory().keep_in(path);
}

void flash_protect(FlashChip *chip, int on) {
    chip->protect(on);
}

// Returns line number `index` of what the chip found broken, or an empty string.
const char *flash_broken(FlashChip *chip, uint64_t index) {
    return index < chip->broken().size() ? chip->broken()[index].c_str() : "";
}

// Returns the address of erase number `index`, or -1.
int64_t flash_erased(FlashChip *chip, uint64_t index) {
    return index < chip->erased().size() ? static_cast<int64_t>(chip->erased()[index]) : -1;
}

// Starts a part with this flash as after power-on. Returns the address of the image that started,
// or -1 if none does. `words` gets BOOTSTS and the image's user id.
int64_t flash_boot(FlashChip *chip, uint32_t idcode, uint32_t *words) {
    Configuration configuration(chip->memory(), idcode);
    Boot boot = configuration.power_on();
    words[0] = configuration.boot_status();
    words[1] = boot.image.user_id;
    return boot.bricked ? -1 : static_cast<int64_t>(boot.address);
}
}
