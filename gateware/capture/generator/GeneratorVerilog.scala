// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.generator

import lanebox.vocabulary.LaneboxConfig

/** Writes Generator.v into the folder args(0). */
object GeneratorVerilog extends App {
  LaneboxConfig(args(0)).generateVerilog(Generator())
}
