// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.endpoint

import spinal.core._

import lanebox.vocabulary.{HardBlock, Numbers}

/** A request of the host for one dword, as SlavePort gives it to a LitePCIe front end. The fields
  * are those of LitePCIe's request_layout, with LitePCIe's names. The byte enables are added, since
  * LitePCIe has none.
  */
case class SlaveRequest() extends Bundle {
  val first   = Bool()                         // Always set, like the stream's `last`.
  val reqId   = Bits(Numbers.IdWidth bits)
  val we      = Bool()
  val adr     = UInt(32 bits)                  // Byte address of the dword in the BAR.
  val len     = UInt(10 bits)                  // Dwords of the request: always 1.
  val tag     = Bits(Numbers.TagWidth bits)    // Tag given by SlavePort; the answer repeats it.
  val dat     = Bits(HardBlock.DataWidth bits) // The dword to write, in lane 0.
  val channel = Bits(8 bits)
  val userId  = Bits(8 bits)
  val firstBe, lastBe = Bits(4 bits)
}
