// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rc

import spinal.core._

import lanebox.vocabulary.Numbers

/** The descriptor in front of a completion on RC (PG213, "Requester Completion Descriptor").
  *
  * `address` is a byte address, of which a completion carries only the lowest seven bits over the
  * link.
  */
case class RcDescriptor() extends Bundle {
  val address   = UInt(7 bits)
  val code      = UInt(4 bits)
  val byteCount = UInt(Numbers.ByteCountWidth bits)
  val done      = Bool() // "Request completed": the hard block expects no more for this tag.
  val dwords    = UInt(Numbers.DwordCountWidth bits)
  val status    = Bits(3 bits)
  val poisoned  = Bool()
  val tag       = UInt(8 bits)
}

object RcDescriptor {
  val Dwords = 3

  /** The error codes with which the hard block marks a completion (field `code`). */
  val Normal       = 0
  val Poisoned     = 1
  val Status       = 2
  val ByteCount    = 3 // The completion has no payload, or more than its read still waits for.
  val LowerAddress = 5 // The lower address is not that of the next byte of its read.
  val InvalidTag   = 6 // The hard block knows of no outstanding read with this tag.
  // A function level reset ended the read. Only the fields `tag` and `done` are valid.
  val Reset = 8
  // The hard block's own completion timeout ended the read. Only `tag` and `done` are valid.
  val Timeout = 9

  /** Returns the fields of the descriptor in the 96 bits `words`. */
  def apply(words: Bits): RcDescriptor = {
    val header = RcDescriptor()
    header.address   := words(0, 7 bits).asUInt
    header.code      := words(12, 4 bits).asUInt
    header.byteCount := words(16, Numbers.ByteCountWidth bits).asUInt
    header.done      := words(30)
    header.dwords    := words(32, Numbers.DwordCountWidth bits).asUInt
    header.status    := words(43, 3 bits)
    header.poisoned  := words(46)
    header.tag       := words(64, 8 bits).asUInt
    header
  }
}
