// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import lanebox.vocabulary.{Arguments, LaneboxConfig, Numbers}

/** Writes VirtioDevices.v into the folder args(0). Further arguments may be `pairs=N` and
  * `packed=true`, with which the rings may be packed.
  */
object VirtioDevicesVerilog extends App {
  val words   = Arguments(args.drop(1).toSeq, "pairs", "packed")
  val devices = VirtioDevices.all(pairs = words.int("pairs", Numbers.VirtioNetPairs))
  LaneboxConfig(args(0)).generateVerilog(
    VirtioDevices(devices.map(_.withPacked(words.flag("packed", default = false))))
  )
}
