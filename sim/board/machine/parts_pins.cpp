// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The functions by which the Verilog modules in card/ call the model of the card's parts. `parts`
// is what parts_bind() in gateware.cpp has returned.

#include "card/parts.hpp"

using lanebox::CardParts;

extern "C" void sensors_write(void *parts, int number, int value) {
    static_cast<CardParts *>(parts)->sensors.write(static_cast<unsigned>(number),
                                                   static_cast<uint16_t>(value));
}

extern "C" int sensors_read(void *parts, int number) {
    return static_cast<CardParts *>(parts)->sensors.read(static_cast<unsigned>(number));
}

extern "C" void sensors_convert(void *parts, int *channel, int *last, int *cycles, int *alarms,
                                int *hot) {
    lanebox::Sensors &sensors = static_cast<CardParts *>(parts)->sensors;
    lanebox::Sensors::Conversion ended = sensors.convert();
    *channel = static_cast<int>(ended.channel);
    *last = ended.last;
    *cycles = static_cast<int>(ended.cycles);
    *alarms = sensors.alarms();
    *hot = sensors.over_temperature();
}

extern "C" int cage_step(void *parts, int cage, int lines, long long now) {
    lanebox::Cage::Lines in;
    in.scl_low = lines & 1;
    in.sda_low = lines >> 1 & 1;
    in.select_n = lines >> 2 & 1;
    in.reset_n = lines >> 3 & 1;
    in.low_power = lines >> 4 & 1;
    auto &found = static_cast<CardParts *>(parts)->cages.at(static_cast<size_t>(cage));
    lanebox::Cage::Pins out = found.step(in, static_cast<uint64_t>(now));
    return out.scl | out.sda << 1 | out.present_n << 2 | out.interrupt_n << 3 |
           static_cast<int>(out.wake << 8);
}
