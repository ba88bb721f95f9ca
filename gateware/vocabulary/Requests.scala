// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** A client's request to host memory: whole dwords, with byte enables for the first and the last.
  *
  * All fields but `data` stay the same on every beat of the request. A write brings payload dword 0
  * in lane 0, and as many beats as its dwords need. A read is one beat.
  */
case class Request() extends Bundle {
  val write           = Bool()
  val address         = UInt(64 bits) // In bytes, dword aligned.
  val dwords          = UInt(11 bits) // 1 to 1024.
  val firstBe, lastBe = Bits(4 bits)  // lastBe is 0 for a single dword (base specification 2.2.5).
  val attributes      = Bits(3 bits)  // ID-based ordering, relaxed ordering, no snoop.
  val context         = Bits(16 bits) // Comes back with the data of a read.
  val data            = Bits(HardBlock.DataWidth bits)
}

/** Why a read failed. */
object ReadError extends SpinalEnum(binarySequential) {
  val none        = newElement()
  val unsupported = newElement() // Unsupported Request, or an unknown status.
  val aborted     = newElement() // Completer Abort.
  val poisoned    = newElement()
  val timeout     = newElement() // No answer in time, by the card's clock or the block's.
  val malformed   = newElement() // Length, byte count or address do not fit the request.
  val cut         = newElement() // The block discontinued the completion.
}

/** The data of a read: always as many beats as were asked for. Beats of a read that failed are
  * zero.
  *
  * All fields but `data` and `error` stay the same on every beat. `error` is about its own beat.
  */
case class ReadData() extends Bundle {
  val data    = Bits(HardBlock.DataWidth bits) // Dword 0 of the request in lane 0.
  val dwords  = UInt(11 bits)                  // Of the request.
  val context = Bits(16 bits)
  val error   = ReadError()
}
