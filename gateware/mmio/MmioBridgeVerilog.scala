// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.mmio

import lanebox.vocabulary.LaneboxConfig

/** Writes MmioBridge.v into the folder args(0). Further arguments are `key=value` for MmioParam. */
object MmioBridgeVerilog extends App {
  LaneboxConfig(args(0)).generateVerilog(MmioBridge(MmioParam(args.tail.toSeq)))
}
