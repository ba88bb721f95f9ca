// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.vocabulary

import spinal.core._

/** A beat of a client's request to host memory. A request is for whole dwords, with byte enables
  * for the first and the last one.
  *
  * All fields but `data` stay the same on every beat of the request. A write brings payload dword 0
  * in lane 0, and as many beats as its dwords need. A read is one beat.
  */
case class Request() extends Bundle {
  val write   = Bool()
  val address = UInt(64 bits)                      // Byte address in host memory, dword aligned.
  val dwords  = UInt(Numbers.DwordCountWidth bits) // Dwords of the request: 1 to 1024.
  val firstBe, lastBe = Bits(4 bits) // lastBe is 0 for a single dword (base specification 2.2.5).
  val attributes      = Bits(3 bits) // Bit 2: ID-based ordering, 1: relaxed ordering, 0: no snoop.
  // Chosen by the client; comes back with a read's data.
  val context = Bits(Numbers.ContextWidth bits)
  val data    = Bits(HardBlock.DataWidth bits)
}
