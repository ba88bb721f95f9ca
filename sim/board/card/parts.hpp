// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The parts of the card around the FPGA's data path, which only gateware with card services uses.
#pragma once

#include <array>

#include "card/cage.hpp"
#include "card/sensors.hpp"

namespace lanebox {

struct CardParts {
    Sensors sensors;
    std::array<Cage, 2> cages;  // cage A, cage B
};

}  // namespace lanebox
