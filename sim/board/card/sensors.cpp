// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "card/sensors.hpp"

#include <algorithm>
#include <cmath>

namespace lanebox {

namespace {

// A channel of the sequence. `number` is also that of the register with its result. `bit` is its
// place in register 0x48, which selects the channels.
struct Channel {
    unsigned number, bit;
};

constexpr unsigned kCalibration = 8, kTemperature = 0, kVccint = 1, kVccaux = 2, kVccbram = 6;
constexpr Channel kSequence[] = {
    {kCalibration, 0}, {kTemperature, 8}, {kVccint, 9}, {kVccaux, 10}, {kVccbram, 14}};
constexpr unsigned kChannels = std::size(kSequence);
constexpr unsigned kSelected = 0x48;
// A conversion takes this many cycles of the converter's clock ADCCLK.
constexpr unsigned kConversionCycles = 26;
constexpr unsigned kAveraging[] = {1, 16, 64, 256};
// The limit of a temperature is in the upper 12 bits of its register. The lower four are switches.
constexpr uint16_t kLimitMask = 0xfff0;

// Returns the 16-bit code of a value. The value `full` would have the code 2^16.
uint16_t code(double value, double full) {
    return static_cast<uint16_t>(std::clamp(std::round(value * 65536 / full), 0.0, 65535.0));
}

}  // namespace

uint16_t Sensors::measure(unsigned channel) const {
    constexpr double kSpan = 509.3140064, kOffset = 280.23087870, kVolts = 3;
    switch (channel) {
        case kTemperature: return code(environment_.temperature + kOffset, kSpan);
        case kVccint: return code(environment_.vccint, kVolts);
        case kVccaux: return code(environment_.vccaux, kVolts);
        case kVccbram: return code(environment_.vccbram, kVolts);
        default: return 0;
    }
}

bool Sensors::outside(unsigned channel, unsigned upper, unsigned lower) const {
    return registers_[channel] > registers_[upper] || registers_[channel] < registers_[lower];
}

// Sets the alarms by the newest results. An alarm of the temperature turns on above its upper
// limit, and off below its lower one. The alarm of a supply is on while its voltage is outside its
// limits.
void Sensors::judge() {
    uint16_t heat = registers_[kTemperature];
    bool hot = alarms_ & 1;
    hot = heat > registers_[0x50] || (hot && heat >= registers_[0x54]);
    over_temperature_ = heat > (registers_[0x53] & kLimitMask) ||
                        (over_temperature_ && heat >= (registers_[0x57] & kLimitMask));
    over_temperature_ = over_temperature_ && enabled(0);
    alarms_ = static_cast<uint16_t>((hot && enabled(1)) |
                                    (outside(kVccint, 0x51, 0x55) && enabled(2)) << 1 |
                                    (outside(kVccaux, 0x52, 0x56) && enabled(3)) << 2 |
                                    (outside(kVccbram, 0x58, 0x5c) && enabled(8)) << 3);
}

unsigned Sensors::cycles() const {
    unsigned divider = std::max(registers_[0x42] >> 8, 2);
    bool averaged = kSequence[place_].number != kCalibration;
    return kConversionCycles * divider * (averaged ? kAveraging[registers_[0x40] >> 12 & 3] : 1);
}

Sensors::Conversion Sensors::convert() {
    unsigned channel = kSequence[place_].number;
    registers_[channel] = measure(channel);
    // Before every supply has been measured its register is 0, which is outside of all limits.
    if (channel == kVccbram) judge();
    bool last = true;
    for (unsigned i = place_ + 1; i < kChannels; i++)
        last = last && !(registers_[kSelected] >> kSequence[i].bit & 1);
    do place_ = (place_ + 1) % kChannels;
    while (place_ && !(registers_[kSelected] >> kSequence[place_].bit & 1));
    return {channel, last, cycles()};
}

void Sensors::write(unsigned number, uint16_t value) {
    if (number >= 0x40 && number < registers_.size()) registers_[number] = value;
}

}  // namespace lanebox
