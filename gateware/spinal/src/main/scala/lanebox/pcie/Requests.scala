// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** A client's request to host memory, in whole dwords with byte enables for the outer two.
  *
  * All but `data` is held on every beat of the request. Writes bring payload dword 0 in lane 0 and
  * as many beats as the dwords need; reads are one beat.
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

/** Why the data of a read is not there. */
object ReadError extends SpinalEnum(binarySequential) {
  val none        = newElement()
  val unsupported = newElement() // Unsupported Request, or any other status that is not known.
  val aborted     = newElement() // Completer Abort.
  val poisoned    = newElement()
  val timeout     = newElement() // Nobody answered: our own clock, or the block's.
  val malformed   = newElement() // Length, byte count or address do not fit the request.
  val cut         = newElement() // The block discontinued the completion.
}

/** The data of a read, always as many beats as were asked for: those of a failed read are zero.
  *
  * All but `data` and `error` is held on every beat; `error` is that of the beats it stands at.
  */
case class ReadData() extends Bundle {
  val data    = Bits(HardBlock.DataWidth bits) // Dword 0 of the request in lane 0.
  val dwords  = UInt(11 bits)                  // Of the request.
  val context = Bits(16 bits)
  val error   = ReadError()
}
