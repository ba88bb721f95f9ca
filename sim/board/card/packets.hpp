// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The numbers in configuration packets (UG570): registers of the part's configuration logic, and
// commands, which are values of the register kCommand. gateware/numbers.py has those that others
// than the model need, too.
#pragma once

#include "link/numbers.hpp"

namespace lanebox::packets {

enum Register : unsigned {
    kCrc = 0,
    kFrames = 2,
    kCommand = numbers::kBitstreamRegCommand,
    kIdcode = numbers::kBitstreamRegIdcode,
    kUserId = numbers::kBitstreamRegUserId,
    kWarmBoot = 16,
    kTimer = 17,
    kBootStatus = 22
};
enum Command : unsigned { kResetCrc = 7, kDesync = numbers::kBitstreamCmdDesync, kReboot = 15 };

}  // namespace lanebox::packets
