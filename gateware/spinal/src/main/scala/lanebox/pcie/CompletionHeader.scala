// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._

/** What the descriptor in front of a completion says (PG213, "Requester Completion Descriptor").
  *
  * Of the address only what the completion itself carries over the link: seven bits.
  */
case class CompletionHeader() extends Bundle {
  val address   = UInt(7 bits)
  val code      = UInt(4 bits)
  val byteCount = UInt(13 bits)
  val done      = Bool() // The block waits for nothing more under this tag.
  val dwords    = UInt(11 bits)
  val status    = Bits(3 bits)
  val poisoned  = Bool()
  val tag       = UInt(8 bits)
}

object CompletionHeader {
  val Dwords = 3

  /** Error codes of the descriptor that say more than the status and the poison bit do. */
  val Normal       = 0
  val Poisoned     = 1
  val Status       = 2
  val ByteCount    = 3 // No data, or more than the read waits for.
  val LowerAddress = 5 // Not that of the next byte that the read waits for.
  val InvalidTag   = 6 // The block waits for nothing under this tag.
  val Reset        = 8 // Ended by a function level reset: tag and `done` alone are valid.
  val Timeout      = 9 // Ended by the block's own clock: tag and `done` alone are valid.

  def apply(words: Bits): CompletionHeader = {
    val header = CompletionHeader()
    header.address   := words(0, 7 bits).asUInt
    header.code      := words(12, 4 bits).asUInt
    header.byteCount := words(16, 13 bits).asUInt
    header.done      := words(30)
    header.dwords    := words(32, 11 bits).asUInt
    header.status    := words(43, 3 bits)
    header.poisoned  := words(46)
    header.tag       := words(64, 8 bits).asUInt
    header
  }
}
