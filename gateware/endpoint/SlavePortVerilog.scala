// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.endpoint

import lanebox.vocabulary.{Arguments, LaneboxConfig}

/** Writes SlavePort.v into the folder args(0). A further argument may be `timeout=CYCLES`. */
object SlavePortVerilog extends App {
  val arguments = Arguments(args.toSeq.drop(1), "timeout")
  val param     = SlavePortParam(arguments.int("timeout", SlavePortParam().timeout))
  LaneboxConfig(args(0)).generateVerilog(SlavePort(param))
}
