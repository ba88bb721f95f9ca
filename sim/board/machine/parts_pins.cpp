// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The functions by which the Verilog modules in card/ call the model of the card's parts. `parts`
// is the pointer that parts_bind() in gateware.cpp has returned.

#include <svdpi.h>

#include "Vlanebox__Dpi.h"  // Verilator's declarations, with which the functions must agree.
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

extern "C" void cage_step(void *parts, int cage, long long now, svBit scl_low, svBit sda_low,
                          svBit modsel_n, svBit reset_n, svBit lpmode, svBit *scl, svBit *sda,
                          svBit *modprs_n, svBit *int_n, int *wake) {
    lanebox::Cage::Lines in;
    in.scl_low = scl_low;
    in.sda_low = sda_low;
    in.select_n = modsel_n;
    in.reset_n = reset_n;
    in.low_power = lpmode;
    auto &found = static_cast<CardParts *>(parts)->cages.at(static_cast<size_t>(cage));
    lanebox::Cage::Pins out = found.step(in, static_cast<uint64_t>(now));
    *scl = out.scl;
    *sda = out.sda;
    *modprs_n = out.present_n;
    *int_n = out.interrupt_n;
    *wake = static_cast<int>(out.wake);
}
