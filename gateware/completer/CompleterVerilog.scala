// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.completer

import lanebox.vocabulary.LaneboxConfig

/** Writes Completer.v into the folder args(0). Further arguments are `key=value` for
  * CompleterParam.
  */
object CompleterVerilog extends App {
  LaneboxConfig(args(0)).generateVerilog(Completer(CompleterParam(args.toSeq.drop(1))))
}
