// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The FPGA's system monitor, primitive SYSMONE4 (UG580): its registers behind the DRP, its sequence
// of conversions and its alarms. Temperature and voltages are what the board's options say.
//
// The model measures without noise and calibrates nothing. Of the sequence's channels it knows the
// calibration, the temperature and three supplies.
#pragma once

#include <array>
#include <cstdint>

namespace lanebox {

// The values that the sensors measure, in degrees Celsius and in volts.
struct Environment {
    double temperature = 40, vccint = 0.85, vccaux = 1.8, vccbram = 0.85;
};

class Sensors {
public:
    // A conversion that has ended, as the primitive's pins show it.
    struct Conversion {
        unsigned channel;
        bool last;        // the conversion was the last one of a sequence
        unsigned cycles;  // how many cycles of DCLK the next conversion takes
    };

    void set(const Environment &environment) { environment_ = environment; }
    // Ends the running conversion: stores its result, judges the alarms and begins the next one.
    Conversion convert();
    // Read and write a register over the DRP. 0x00 to 0x3f hold results and cannot be written.
    uint16_t read(unsigned number) const { return registers_[number & 0xff]; }
    void write(unsigned number, uint16_t value);
    // Returns the levels of the primitive's pins ALM.
    uint16_t alarms() const { return alarms_; }
    bool over_temperature() const { return over_temperature_; }

private:
    uint16_t measure(unsigned channel) const;
    void judge();
    bool enabled(unsigned bit) const { return !(registers_[0x41] >> bit & 1); }
    bool outside(unsigned channel, unsigned upper, unsigned lower) const;
    unsigned cycles() const;

    Environment environment_;
    std::array<uint16_t, 256> registers_{};
    unsigned place_ = 0;  // the place of the running conversion in the sequence
    uint16_t alarms_ = 0;
    bool over_temperature_ = false;
};

}  // namespace lanebox
