// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture

import lanebox.capture.vocabulary.CaptureParam
import lanebox.vocabulary.LaneboxConfig

/** Writes Capture.v into the folder args(0). Further arguments may be `cells=N` and `segments=N`.
  */
object CaptureVerilog extends App {
  val param = args.drop(1).foldLeft(CaptureParam()) {
    case (p, s"cells=$n")    => p.copy(cells = n.toInt)
    case (p, s"segments=$n") => p.copy(segments = n.toInt)
    case (_, word) =>
      throw new IllegalArgumentException(s"$word: only cells=number and segments=number")
  }
  LaneboxConfig(args(0)).generateVerilog(Capture(param))
}
