// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture

import lanebox.capture.vocabulary.CaptureParam
import lanebox.vocabulary.{Arguments, LaneboxConfig}

/** Writes CaptureUnit.v into the folder args(0). Further arguments may be `fromSlot=true`,
  * `fromNet=true` and `queues=N`.
  */
object CaptureUnitVerilog extends App {
  val words = Arguments(args.drop(1).toSeq, "fromSlot", "fromNet", "queues")
  LaneboxConfig(args(0)).generateVerilog(
    CaptureUnit(
      CaptureParam(queues = words.int("queues", 1)),
      fromSlot = words.flag("fromSlot", false),
      fromNet = words.flag("fromNet", false)
    )
  )
}
