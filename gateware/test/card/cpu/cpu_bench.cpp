// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The management CPU with the registers that its firmware uses, Verilated, as a library for Python.

#include <verilated.h>

#include "Vcpu_bench.h"

namespace {

// Cycles after which an access of the host counts as never answered.
constexpr int kPatience = 1000;

struct Bench {
    // A design that is deleted looks for its context by the thread's last one.
    ~Bench() { Verilated::threadContextp(&context); }
    void tick() {
        top.clock_clk = 1;
        top.eval();
        top.clock_clk = 0;
        top.eval();
        cycles++;
        busy += top.state_busy;
        rings += top.state_irq;
    }
    // Makes an access of the host's bus to the word at `address`. Returns the data.
    uint32_t access(uint32_t address, bool write, uint32_t value) {
        top.host_adr = address / 4;
        top.host_we = write;
        top.host_dat_w = value;
        top.host_stb = 1;
        uint32_t data = 0;
        for (int i = 0; i < kPatience; i++) {
            top.eval();
            bool done = top.host_ack;
            data = top.host_dat_r;
            tick();
            if (done) break;
        }
        top.host_stb = 0;
        tick();
        return data;
    }
    uint64_t cycles = 0, busy = 0, rings = 0;
    VerilatedContext context;
    Vcpu_bench top{&context};
};

}  // namespace

extern "C" {

void *cpu_new() {
    auto *bench = new Bench;
    bench->top.clock_rst = 1;
    for (int i = 0; i < 4; i++) bench->tick();
    bench->top.clock_rst = 0;
    bench->cycles = bench->busy = 0;
    return bench;
}

void cpu_delete(Bench *bench) {
    delete bench;
}

// Resets the card's logic, as PERST# does.
void cpu_reset(Bench *bench) {
    bench->top.clock_rst = 1;
    for (int i = 0; i < 4; i++) bench->tick();
    bench->top.clock_rst = 0;
}

void cpu_run(Bench *bench, uint64_t cycles) {
    while (cycles--) bench->tick();
}

// Runs while the CPU is work, at most for `most` cycles. Returns the cycles that it took.
uint64_t cpu_settle(Bench *bench, uint64_t most) {
    uint64_t begun = bench->cycles;
    while (bench->cycles - begun < most && (bench->top.state_busy || bench->cycles == begun))
        bench->tick();
    return bench->cycles - begun;
}

uint32_t cpu_read(Bench *bench, uint32_t address) {
    return bench->access(address, false, 0);
}

void cpu_write(Bench *bench, uint32_t address, uint32_t value) {
    bench->access(address, true, value);
}

// Sets whether the FPGA is too hot.
void cpu_inputs(Bench *bench, uint32_t hot) {
    bench->top.inputs_hot = hot;
}

uint64_t cpu_count(Bench *bench, uint32_t which) {
    return which == 0 ? bench->cycles : which == 1 ? bench->busy : bench->rings;
}
}
