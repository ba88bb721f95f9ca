// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.vocabulary

import spinal.core._
import spinal.lib._

/** A beat of a client's request to host memory. A request is for whole dwords, with byte enables
  * for the first and the last one.
  *
  * All fields but `data` stay the same on every beat of the request. A write brings payload dword 0
  * in lane 0, and as many beats as its dwords need. A read is one beat.
  */
case class Request() extends Bundle {
  val write           = Bool()
  val address         = UInt(64 bits) // Byte address in host memory, dword aligned.
  val dwords          = UInt(11 bits) // Dwords of the request: 1 to 1024.
  val firstBe, lastBe = Bits(4 bits)  // lastBe is 0 for a single dword (base specification 2.2.5).
  val attributes      = Bits(3 bits)  // Bit 2: ID-based ordering, 1: relaxed ordering, 0: no snoop.
  val context         = Bits(16 bits) // Chosen by the client; comes back with a read's data.
  val data            = Bits(HardBlock.DataWidth bits)
}

/** The reasons for which a read of host memory fails. */
object ReadError extends SpinalEnum(binarySequential) {
  val none        = newElement()
  val unsupported = newElement() // The host answered Unsupported Request, or an unknown status.
  val aborted     = newElement()
  val poisoned    = newElement()
  val timeout     = newElement() // No answer came in time, by the card's or the hard block's clock.
  val malformed   = newElement() // Length, byte count or address do not fit the request.
  val cut         = newElement() // The hard block cut a completion short, or a reset ended it.
}

/** A beat of the data that the card has read from host memory. A client always gets as many beats
  * as it asked for. Beats of a read that failed are zero.
  *
  * All fields but `data` and `error` stay the same on every beat of a read. `error` is about its
  * own beat.
  */
case class ReadData() extends Bundle {
  val data    = Bits(HardBlock.DataWidth bits) // The request's dword 0 is in lane 0 of beat 0.
  val dwords  = UInt(11 bits)                  // Dwords of the client's whole request.
  val context = Bits(16 bits)
  val error   = ReadError()
}
