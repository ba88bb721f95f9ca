// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The function by which the Verilog module frame_port calls the model of the wire. Each pin is an
// argument of its own. The data of a beat is a vector of 32-bit words, the lowest one first, so on
// a little-endian computer its bytes lie in the order of the frame.

#include <svdpi.h>

#include <cstring>

#include "Vlanebox__Dpi.h"  // Verilator's declaration, with which the function must agree.
#include "port/wire.hpp"

static_assert(sizeof lanebox::WireBeat::data == 8 * sizeof(svBitVecVal));

// `wire` is the pointer that wire_bind() in gateware.cpp has returned.
extern "C" void wire_step(void *wire, svBit reset, svBit h2c_valid, svBit h2c_last, svBit h2c_error,
                          int h2c_bytes, const svBitVecVal *h2c_data, svBit *h2c_ready,
                          svBit c2h_ready, svBit *c2h_valid, svBit *c2h_last, int *c2h_bytes,
                          svBitVecVal *c2h_data, int *c2h_kept, long long *c2h_time, svBit *link) {
    lanebox::WireInputs inputs;
    inputs.reset = reset;
    inputs.h2c.valid = h2c_valid;
    inputs.h2c.last = h2c_last;
    inputs.h2c.error = h2c_error;
    inputs.h2c.bytes = static_cast<unsigned>(h2c_bytes);
    memcpy(inputs.h2c.data, h2c_data, sizeof inputs.h2c.data);
    inputs.c2h_ready = c2h_ready;
    lanebox::WireOutputs outputs;
    static_cast<lanebox::Wire *>(wire)->step(inputs, outputs);
    *h2c_ready = outputs.h2c_ready;
    *c2h_valid = outputs.c2h.valid;
    *c2h_last = outputs.c2h.last;
    *c2h_bytes = static_cast<int>(outputs.c2h.bytes);
    memcpy(c2h_data, outputs.c2h.data, sizeof outputs.c2h.data);
    *c2h_kept = static_cast<int>(outputs.kept);
    *c2h_time = static_cast<long long>(outputs.time);
    *link = outputs.link;
}
