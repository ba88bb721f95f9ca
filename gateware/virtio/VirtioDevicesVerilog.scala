// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import lanebox.vocabulary.{Arguments, LaneboxConfig, Numbers}

/** Writes VirtioDevices.v into the folder args(0). A further argument may be `pairs=N`. */
object VirtioDevicesVerilog extends App {
  val words = Arguments(args.drop(1).toSeq, "pairs")
  LaneboxConfig(args(0)).generateVerilog(
    VirtioDevices(VirtioDevices.all(words.int("pairs", Numbers.VirtioNetPairs)))
  )
}
