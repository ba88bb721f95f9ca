// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture

import lanebox.vocabulary.LaneboxConfig

/** Writes CaptureUnit.v into the folder args(0). */
object CaptureUnitVerilog extends App {
  LaneboxConfig(args(0)).generateVerilog(CaptureUnit(CaptureParam()))
}
