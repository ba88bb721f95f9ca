// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The values of the hard block's flow control pins, which show the link's credits.
#pragma once

#include "block/pins.hpp"
#include "link/credits.hpp"

namespace lanebox {

// Returns the values of the pins cfg_fc_* for a value of cfg_fc_sel, `select` (PG213,
// "Configuration Flow Control Interface"). 0 to 2 are about TLPs that the block receives: the
// credits that the link partner has available, its limit, the credits that it has consumed. 3 is
// the free space of the block's receive buffer. 4 to 6 are like 0 to 2, but for TLPs that the block
// sends. Infinite credits and the reserved selection 7 read as 0.
FcPins fc_pins(const CreditPool &transmit, const CreditPool &receive, unsigned select);

}  // namespace lanebox
