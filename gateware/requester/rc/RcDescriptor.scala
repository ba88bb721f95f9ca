// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._

/** The descriptor in front of a completion (PG213, "Requester Completion Descriptor").
  *
  * `address` has only the seven bits that a completion carries over the link, in bytes.
  */
case class CompletionHeader() extends Bundle {
  val address   = UInt(7 bits)
  val code      = UInt(4 bits)
  val byteCount = UInt(13 bits)
  val done      = Bool() // The block expects no more completions under this tag.
  val dwords    = UInt(11 bits)
  val status    = Bits(3 bits)
  val poisoned  = Bool()
  val tag       = UInt(8 bits)
}

object CompletionHeader {
  val Dwords = 3

  /** Error codes of the descriptor. */
  val Normal       = 0
  val Poisoned     = 1
  val Status       = 2
  val ByteCount    = 3 // No payload, or more than the read still waits for.
  val LowerAddress = 5 // Not the address of the next byte that the read waits for.
  val InvalidTag   = 6 // No read is outstanding under this tag in the block.
  // The read was ended by a function level reset: only tag and `done` are valid.
  val Reset = 8
  // The read was ended by the block's own timeout: only tag and `done` are valid.
  val Timeout = 9

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
