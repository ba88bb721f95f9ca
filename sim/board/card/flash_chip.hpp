// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// A serial flash by its pins, in SPI mode 0 with one data line each way. Command 0x3c sends its
// data on both lines.
//
// The commands, and the typical times of erasing and programming, are those of Micron's MT25QU256
// data sheet. Programming only clears bits, and stays in the page of its address. Power may be lost
// at any moment: then a page is programmed in part, or a sector erased in part.
//
// broken() has a sentence for each mistake of the card: a command while the chip is busy, a change
// without write enable, an unknown opcode, CS# high for too short a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "card/flash_memory.hpp"
#include "link/units.hpp"

namespace lanebox {

struct FlashPart {
    uint32_t identification;
    uint64_t size;
    bool flag_status;  // The part has Micron's flag status register, command 0x70.
};
constexpr FlashPart kMt25qu256 = {0x20bb19, uint64_t{1} << 25, true};

class FlashChip {
public:
    // Times of erasing and programming are divided by `divisor`. `seed` decides which bits change
    // when power is lost.
    FlashChip(const FlashPart &part, uint64_t divisor, uint64_t seed);

    // Sets the levels of the input pins from `now` on, and returns the level of the data output.
    // Call it at each change of CS# and SCK.
    bool pins(bool cs_n, bool sck, bool mosi, Time now);
    // Takes the power away for a moment. A running erase or program ends with a part of the bits
    // changed, and the chip's volatile registers are as after power-on.
    void lose_power(Time now);
    bool busy(Time now);
    bool write_enabled() const { return write_enabled_; }
    bool selected() const { return selected_; }
    // pairs(): the chip drives D00, too, as command 0x3c makes it do. low() is its level there.
    bool pairs() const { return pairs_; }
    bool low() const { return low_; }
    // Call it if the card drives D00 while the chip does, which is a fault of the card.
    void conflict() { breach("both card and flash drive D00"); }

    FlashMemory &memory() { return memory_; }
    const FlashPart &part() const { return part_; }
    const std::vector<std::string> &broken() const { return broken_; }
    // Addresses of the sectors that were erased, in the order of the erases.
    const std::vector<uint64_t> &erased() const { return erased_; }
    // A fault of the chip: erasing and programming take their time, but change no bit.
    void protect(bool on) { protected_ = on; }

private:
    enum class Work { None, Program, Erase, Status };
    struct Running {
        Work work = Work::None;
        uint64_t address = 0, bytes = 0;
        std::vector<uint8_t> page;
        Time start = 0, end = 0;
    };

    void select(Time now);
    void rise(bool bit);
    void fall(Time now);
    void take(uint8_t byte);
    uint8_t answer(Time now);
    uint8_t register_answer(Time now) const;
    void execute(Time now);
    void execute_volatile(uint8_t opcode);
    void begin(Work work, uint64_t bytes, Time duration, Time now);
    void program(Time now);
    void settle(Time now);
    void finish(double done);
    void finish_program(double done);
    void finish_erase(double done);
    bool happens(double chance);
    unsigned address_bytes(uint8_t opcode) const;
    bool sends_pairs() const;
    uint64_t address() const;
    void breach(const std::string &what);
    void reset();

    FlashPart part_;
    uint64_t divisor_, random_;
    FlashMemory memory_;
    std::vector<std::string> broken_;
    std::vector<uint64_t> erased_;
    bool protected_ = false;

    // The state that is lost with the power.
    bool selected_ = false, clock_ = false, out_ = true, pairs_ = false, low_ = true;
    std::optional<Time> deselected_at_;
    unsigned bits_ = 0;
    uint8_t in_ = 0, shown_ = 0xff;
    uint64_t count_ = 0;           // bytes of the present command that the chip has got
    std::vector<uint8_t> header_;  // the command's first bytes: opcode, address, dummy
    std::vector<uint8_t> data_;    // the bytes to program: the last 256 of the command
    bool write_enabled_ = false, four_bytes_ = false, reset_enabled_ = false, asleep_ = false;
    uint8_t extended_ = 0, flags_ = 0;
    Running running_;
};

}  // namespace lanebox
