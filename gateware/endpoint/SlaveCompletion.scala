// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.endpoint

import spinal.core._

import lanebox.vocabulary.{HardBlock, Numbers}

/** The answer of a LitePCIe front end to a read of one dword. The fields are those of LitePCIe's
  * completion_layout. SlavePort uses only `tag`, `err` and lane 0 of `dat`.
  */
case class SlaveCompletion() extends Bundle {
  val first   = Bool()
  val reqId   = Bits(Numbers.IdWidth bits)
  val cmpId   = Bits(Numbers.IdWidth bits)
  val adr     = UInt(32 bits)
  val len     = UInt(10 bits)
  val end     = Bool()
  val err     = Bool()
  val tag     = Bits(8 bits)
  val dat     = Bits(HardBlock.DataWidth bits)
  val channel = Bits(8 bits)
  val userId  = Bits(8 bits)
}
