// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Joins the models of flash and configuration logic to the Verilog modules STARTUPE3 and ICAPE3
// (configuration.sv). A gateware without card services has neither module, and costs nothing here.
#pragma once

#include <functional>

#include "card/configuration.hpp"
#include "card/flash_chip.hpp"

class VerilatedContext;

namespace lanebox {

struct CardPins {
    FlashChip &flash;
    Configuration &configuration;
    std::function<Time()> now;

    // Gives this object to every scope of the Verilated design. The modules ask for it once.
    void bind(VerilatedContext &context);
};

}  // namespace lanebox
