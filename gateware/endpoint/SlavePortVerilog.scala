// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox

import lanebox.pcie.{SlavePort, SlavePortParam}

/** Writes SlavePort.v into the folder args(0); `timeout=cycles` may follow. */
object SlavePortVerilog extends App {
  val param = args.drop(1).foldLeft(SlavePortParam()) {
    case (p, s"timeout=$cycles") => p.copy(timeout = cycles.toInt)
    case (_, word) => throw new IllegalArgumentException(s"$word: only timeout=cycles")
  }
  LaneboxConfig(args(0)).generateVerilog(SlavePort(param))
}
