// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "card/card_pins.hpp"

#include <svdpi.h>
#include <verilated.h>
#include <verilated_syms.h>

namespace lanebox {

namespace {

int key;  // Its address is the key under which a scope has its CardPins.

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

// Returns the level of D01 in bit 0, and that of D00, if the flash drives it, in bit 1. `driven`:
// the card drives D00.
extern "C" int card_flash_pins(void *model, int cs_n, int sck, int mosi, int driven) {
    auto *card = static_cast<lanebox::CardPins *>(model);
    bool high = card->flash.pins(cs_n != 0, sck != 0, mosi != 0, card->now());
    if (driven && card->flash.pairs()) card->flash.conflict();
    bool low = !card->flash.pairs() || card->flash.low();
    return high | low << 1;
}

extern "C" int card_icap_clock(void *model, int csib, int rdwrb, int in) {
    auto *card = static_cast<lanebox::CardPins *>(model);
    return static_cast<int>(
        card->configuration.clock(csib != 0, rdwrb != 0, static_cast<uint32_t>(in), card->now()));
}
