// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.queues

import lanebox.vocabulary.{Arguments, LaneboxConfig}

/** Writes FrameSorter.v into the folder args(0). A further argument may be `units=N`. */
object FrameSorterVerilog extends App {
  val words = Arguments(args.drop(1).toSeq, "units")
  LaneboxConfig(args(0)).generateVerilog(FrameSorter(words.int("units", 4)))
}
