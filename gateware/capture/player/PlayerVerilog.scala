// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.player

import lanebox.vocabulary.LaneboxConfig

/** Writes Player.v into the folder args(0). */
object PlayerVerilog extends App {
  LaneboxConfig(args(0)).generateVerilog(Player())
}
