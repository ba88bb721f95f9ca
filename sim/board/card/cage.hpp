// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// A QSFP cage with or without a module. The module answers on I2C as SFF-8636 asks: 128 bytes of
// lower memory, and upper pages of 128 bytes that byte 127 selects. Their contents come from a
// file.
//
// A module answers only while it is selected, and not before its set-up time. It takes at most four
// bytes in one write. After a reset it is ready in 2 ms. A real module may take 2 s, which no
// simulation reaches.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace lanebox {

// The contents of a cage, and the fault of its module.
struct CageContents {
    enum class Fault { None, Silent, Stuck, Stretch, ClockHeld };
    // Lower memory, then upper pages from 0 on, 128 bytes each. Empty: there is no module.
    std::vector<uint8_t> memory;
    Fault fault = Fault::None;
    // Stuck: the module lets SDA go after this many clocks. Stretch: it holds SCL low for this many
    // microseconds after each byte.
    unsigned amount = 0;
};

// Reads the contents of a module from a file. "none" is an empty cage. Throws
// std::invalid_argument, which names the rule that the file breaks.
std::vector<uint8_t> read_module(const std::string &path);
// Parses none, silent, stuck:CLOCKS, stretch:US or clock-held, and sets the fault in `contents`.
void set_cage_fault(CageContents &contents, const std::string &text);

class Cage {
public:
    // The levels of the cage's pins that the card drives.
    struct Lines {
        bool scl_low = false, sda_low = false;  // the card pulls the line low
        bool select_n = true, reset_n = true, low_power = true;
    };
    struct Pins {
        bool scl, sda;  // the levels of the I2C lines; a line is low if card or module pulls it low
        bool present_n, interrupt_n;
        // Cycles after which the module will change a line by itself; 0: it will not.
        unsigned wake;
    };

    void set(const CageContents &contents);
    // Shows the module the levels of the lines in cycle `now`. Call it when they change, and `wake`
    // cycles after a call that returned one.
    Pins step(const Lines &lines, uint64_t now);

private:
    static constexpr unsigned kHalf = 128;

    bool present() const { return !contents_.memory.empty(); }
    bool listens() const;
    bool flagged() const;
    void clock_rises(bool sda);
    void clock_falls();
    void byte_came();
    void begin(bool started);
    uint8_t peek() const;
    void poke(uint8_t value);
    void advance() { address_ = (address_ & kHalf) | ((address_ + 1) & (kHalf - 1)); }

    enum class State { Idle, Device, Address, Write, Read };

    CageContents contents_;
    Lines lines_;
    uint64_t now_ = 0;
    uint64_t selected_at_ = 0, ready_at_ = 0, stretched_until_ = 0;
    bool scl_ = true, sda_ = true;  // the levels of the lines after the last step
    bool sda_low_ = false;          // the module pulls SDA low
    State state_ = State::Idle;
    // bits of the present byte that have passed; 8: the acknowledgement is next
    unsigned bits_ = 0;
    bool acknowledges_ = false, refused_ = false;
    uint8_t shift_ = 0, address_ = 0;
    unsigned written_ = 0;  // bytes of the present write
    unsigned stuck_ = 0;    // clocks until a stuck module lets SDA go
};

}  // namespace lanebox
