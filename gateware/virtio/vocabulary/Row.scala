// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.vocabulary

import spinal.core._

import lanebox.vocabulary.HardBlock

/** A row of a frame. `bytes` is valid with `last`: the number of valid bytes; 0 means all 32. */
case class Row() extends Bundle {
  val data  = Bits(HardBlock.DataWidth bits)
  val last  = Bool()
  val bytes = UInt(5 bits)
}
