// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Wrap the simulation jtag_bench.sv (a design behind a part's JTAG port) as a library for Python.
// All inputs are bits of one word, all outputs are bits of another.

#include <cstdint>

#include "Vjtag_bench.h"
#include "verilated.h"

extern "C" {

void *bench_new() {
    auto *bench = new Vjtag_bench;
    bench->eval();
    return bench;
}

void bench_delete(void *handle) {
    delete static_cast<Vjtag_bench *>(handle);
}

// Bits of `inputs` from 0 on: tck, tdi, capture, shift, update, miso, cfgmclk; `selected` from bit
// 8, the clocks from bit 16. Bits of the result from 0 on: cs_n, sck, mosi; tdo from bit 4.
uint32_t bench_step(void *handle, uint32_t inputs) {
    auto *bench = static_cast<Vjtag_bench *>(handle);
    bench->tck = inputs & 1;
    bench->tdi = inputs >> 1 & 1;
    bench->capture = inputs >> 2 & 1;
    bench->shift = inputs >> 3 & 1;
    bench->update = inputs >> 4 & 1;
    bench->miso = inputs >> 5 & 1;
    bench->cfgmclk = inputs >> 6 & 1;
    bench->selected = inputs >> 8 & 15;
    bench->clocks = inputs >> 16 & 255;
    bench->eval();
    return bench->cs_n | bench->sck << 1 | bench->mosi << 2 | bench->tdo << 4;
}

void bench_pins(void *handle, uint64_t pins) {
    static_cast<Vjtag_bench *>(handle)->pins = pins;
}

uint64_t bench_driven(void *handle) {
    return static_cast<Vjtag_bench *>(handle)->driven;
}

uint64_t bench_levels(void *handle) {
    return static_cast<Vjtag_bench *>(handle)->levels;
}
}
