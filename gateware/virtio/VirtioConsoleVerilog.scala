// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import lanebox.vocabulary.LaneboxConfig

/** Writes VirtioConsole.v into the folder args(0). */
object VirtioConsoleVerilog extends App {
  LaneboxConfig(args(0)).generateVerilog(VirtioConsole())
}
