// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "card/card_pins.hpp"

#include <svdpi.h>
#include <verilated.h>
#include <verilated_syms.h>

#include "Vlanebox__Dpi.h"  // Verilator's declarations, with which the functions must agree.

namespace lanebox {

namespace {

int key;  // The address of this variable is the key under which a scope keeps its CardPins.

}  // namespace

void CardPins::bind(VerilatedContext &context) {
    for (const auto &[name, scope] : *context.scopeNameMap())
        svPutUserData(const_cast<VerilatedScope *>(scope), &key, this);
}

static CardPins *bound() {
    return static_cast<CardPins *>(svGetUserData(svGetScope(), &key));
}

}  // namespace lanebox

// --- DPI -----------------------------------------------------------------------------------------

extern "C" void *card_bind() {
    return lanebox::bound();
}

// `driven`: the card drives D00. Sets `d01` and `d00` to the levels of the flash's data pins. A pin
// that the flash does not drive is high.
extern "C" void card_flash_pins(void *model, svBit cs_n, svBit sck, svBit mosi, svBit driven,
                                svBit *d01, svBit *d00) {
    auto *card = static_cast<lanebox::CardPins *>(model);
    *d01 = card->flash.pins(cs_n, sck, mosi, card->now());
    if (driven && card->flash.pairs()) card->flash.conflict();
    *d00 = !card->flash.pairs() || card->flash.low();
}

extern "C" int card_icap_clock(void *model, svBit csib, svBit rdwrb, int in) {
    auto *card = static_cast<lanebox::CardPins *>(model);
    return static_cast<int>(
        card->configuration.clock(csib, rdwrb, static_cast<uint32_t>(in), card->now()));
}
