// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The part's configuration logic: it starts an image from the flash, takes words from ICAPE3, and
// keeps the history of its configurations in BOOTSTS (UG570).
//
// If an image fails, the golden image at address 0 is started, and IPROG in it is ignored. If that
// fails, too, the part stays without a configuration: the card is bricked. It is bricked as well if
// it finds no whole image while its watchdog (TIMER) does not count the clocks of a configuration.
//
// In an image that has started, the watchdog counts periods of 5.12 us if bit 31 of TIMER says so.
// At its end the golden image is started.
//
// From a fallback on the watchdog is off, whatever is written to TIMER, until IPROG has started an
// image from there (UG570).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "card/flash_memory.hpp"
#include "card/image.hpp"
#include "link/units.hpp"

namespace lanebox {

struct Boot {
    bool bricked = false;
    uint64_t address = 0;  // flash address of the image that started; 0: the golden image
    Image image;
};

class Configuration {
public:
    Configuration(const FlashMemory &flash, uint32_t idcode) : flash_(flash), idcode_(idcode) {}

    // Starts the golden image as after power-on, which clears BOOTSTS.
    Boot power_on();
    // Starts the image whose address is in WBSTAR, as after IPROG.
    Boot reboot() { return start(uint64_t{warm_boot_} << 8, true); }
    // Starts the golden image after the watchdog's end.
    Boot time_out();

    // Call it at the end of a configuration. The watchdog counts from then on, if TIMER says so.
    void watch(Time now);
    bool watching() const { return watched_until_.has_value(); }
    // Returns true once when the watchdog has counted to its end.
    bool take_timeout(Time now);

    // Carries out a rising edge of ICAPE3's clock, with the levels that its pins had before the
    // edge. Returns the word at its output.
    uint32_t clock(bool csib, bool rdwrb, uint32_t in, Time now);
    // Returns true once after each command IPROG that came by ICAPE3.
    bool take_reboot() { return std::exchange(asked_, false); }
    uint32_t boot_status() const { return boot_status_; }
    // A sentence for each rule of ICAPE3 that the gateware has broken.
    const std::vector<std::string> &broken() const { return broken_; }

private:
    Boot start(uint64_t address, bool by_command);
    Boot fall_back();
    Image load(uint64_t address);
    void take(uint32_t word, Time now);
    void write(uint32_t word, Time now);
    void note(uint32_t status) { boot_status_ = boot_status_ << 8 | status; }

    const FlashMemory &flash_;
    uint32_t idcode_, boot_status_ = 0, warm_boot_ = 0, timer_ = 0;
    std::optional<Time> watched_until_;
    bool watchdog_off_ = false;  // An image failed, so the watchdog does not count any more.
    bool synchronised_ = false, asked_ = false;
    unsigned register_ = 0;
    uint32_t words_ = 0;  // words of the present packet that ICAPE3 has not got yet
    std::optional<unsigned> reading_;
    unsigned read_clocks_ = 0;
    bool last_csib_ = true, last_rdwrb_ = false;
    std::vector<std::string> broken_;
};

}  // namespace lanebox
