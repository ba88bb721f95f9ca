// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.user

import lanebox.vocabulary.LaneboxConfig

/** Writes HostCommands.v into the folder args(0). */
object HostCommandsVerilog extends App {
  LaneboxConfig(args(0)).generateVerilog(HostCommands())
}
