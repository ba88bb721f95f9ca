// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Flash engine and reboot with their registers on a CSR bus, Verilated, at the models of flash and
// configuration logic. It is a library for Python; tools/testing/flash_model.cpp has the flash's
// own functions.

#include <verilated.h>

#include <memory>

#include "Vlanebox.h"
#include "card/card_pins.hpp"

using namespace lanebox;

namespace {

struct Bench {
    Bench(uint64_t divisor, uint64_t seed, uint32_t idcode)
        : chip(kMt25qu256, divisor, seed), configuration(chip.memory(), idcode) {
        pins.bind(context);
        reset();
    }
    // A design that is deleted looks for its context by the thread's last one, which may be that of
    // another bench that has gone.
    ~Bench() { Verilated::threadContextp(&context); }
    void tick() {
        top.sys_clk = 1;
        top.eval();
        top.sys_clk = 0;
        top.eval();
        cycles++;
    }
    void reset() {
        top.sys_rst = 1;
        for (int i = 0; i < 4; i++) tick();
        top.sys_rst = 0;
    }
    uint64_t cycles = 0;
    FlashChip chip;
    Configuration configuration;
    CardPins pins{chip, configuration, [this] { return cycles * kCycle; }};
    VerilatedContext context;
    Vlanebox top{&context};
};

}  // namespace

extern "C" {

void *bench_new(uint64_t divisor, uint64_t seed, uint32_t idcode) {
    return new Bench(divisor, seed, idcode);
}

void bench_delete(Bench *bench) {
    delete bench;
}

void *bench_chip(Bench *bench) {
    return &bench->chip;
}

// Returns a copy of the flash as it is now.
void *bench_copy(Bench *bench) {
    return new FlashChip(bench->chip);
}

void bench_run(Bench *bench, uint64_t cycles) {
    while (cycles--) bench->tick();
}

void bench_reset(Bench *bench) {
    bench->reset();
}

uint64_t bench_cycles(Bench *bench) {
    return bench->cycles;
}

void bench_write(Bench *bench, uint32_t address, uint32_t value) {
    bench->top.csr_adr = address;
    bench->top.csr_dat_w = value;
    bench->top.csr_we = 1;
    bench->tick();
    bench->top.csr_we = 0;
    // The card's bus needs four cycles or more for an access.
    for (int i = 0; i < 3; i++) bench->tick();
}

uint32_t bench_read(Bench *bench, uint32_t address) {
    bench->top.csr_adr = address;
    bench->top.csr_re = 1;
    bench->tick();
    bench->top.csr_re = 0;
    bench->top.csr_adr = 0;
    uint32_t value = bench->top.csr_dat_r;
    bench->tick();
    return value;
}

// Returns whether the design has asked for a reboot since the last call, or the watchdog has ended,
// and what was started.
int bench_reboot(Bench *bench, int64_t *address) {
    Configuration &configuration = bench->configuration;
    bool asked = configuration.take_reboot();
    if (!asked && !configuration.take_timeout(bench->cycles * kCycle)) return 0;
    Boot boot = asked ? configuration.reboot() : configuration.time_out();
    configuration.watch(bench->cycles * kCycle);
    *address = boot.bricked ? -1 : static_cast<int64_t>(boot.address);
    return 1;
}

uint32_t bench_power_on(Bench *bench) {
    bench->configuration.power_on();
    bench->configuration.watch(bench->cycles * kCycle);
    return bench->configuration.boot_status();
}

int bench_watching(Bench *bench) {
    return bench->configuration.watching();
}

void bench_inputs(Bench *bench, int link, int alive) {
    bench->top.link = link;
    bench->top.alive = alive;
}

uint64_t bench_icap_broken(Bench *bench) {
    return bench->configuration.broken().size();
}
}
