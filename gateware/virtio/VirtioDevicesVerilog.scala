// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import lanebox.vocabulary.LaneboxConfig

/** Writes VirtioDevices.v into the folder args(0). */
object VirtioDevicesVerilog extends App {
  LaneboxConfig(args(0)).generateVerilog(VirtioDevices())
}
