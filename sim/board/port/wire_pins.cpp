// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The functions by which the Verilog module frame_port calls the model of the wire.

#include "port/wire.hpp"

// `wire` is what wire_bind() in gateware.cpp has returned.
extern "C" void wire_step(void *wire, const uint32_t *inputs, uint32_t *outputs) {
    static_cast<lanebox::Wire *>(wire)->step(*reinterpret_cast<const lanebox::WireInputs *>(inputs),
                                             *reinterpret_cast<lanebox::WireOutputs *>(outputs));
}
