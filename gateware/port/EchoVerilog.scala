// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.port

import lanebox.vocabulary.LaneboxConfig

/** Writes Echo.v into the folder args(0). */
object EchoVerilog extends App {
  LaneboxConfig(args(0)).generateVerilog(Echo())
}
