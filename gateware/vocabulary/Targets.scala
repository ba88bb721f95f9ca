// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.vocabulary

import spinal.core._
import spinal.lib._

/** The fields of a host's request that the card's completions of it repeat. */
case class RequesterId() extends Bundle {
  val id           = Bits(16 bits)
  val tag          = Bits(Numbers.TagWidth bits)
  val trafficClass = Bits(3 bits)
  val attributes   = Bits(3 bits)
  val function     = Bits(8 bits)
}

/** A beat of a host's memory request to a BAR, with the byte enables as PG213 gives them.
  *
  * All fields but `data` stay the same on every beat. A write brings payload dword 0 in lane 0.
  * `window` has one bit for each BAR window of the target's port, in the order in which the windows
  * were given. The bit of the window that holds the request is set.
  */
case class TargetRequest() extends Bundle {
  val write           = Bool()
  val bar             = UInt(3 bits)
  val window          = Bits(TargetRequest.Windows bits)
  val offset          = UInt(32 bits) // Byte offset in the BAR, dword aligned.
  val dwords          = UInt(11 bits) // Dwords of the request: 1 to 1024.
  val firstBe, lastBe = Bits(4 bits)
  // The byte address that the host gave, which an error completion repeats.
  val address   = UInt(64 bits)
  val requester = RequesterId()
  val data      = Bits(HardBlock.DataWidth bits)
}

object TargetRequest {

  /** The most BAR windows that one port may have. */
  val Windows = Numbers.TargetWindows
}

/** The status of a completion (base specification 2.2.9). */
object CompletionStatus {
  def Success     = B"000"
  def Unsupported = B"001"
  def Abort       = B"100"
}

/** A beat of a completion for the host. `valid` must stay high from a completion's first to its
  * last beat (PG213, CC interface).
  *
  * All fields but `data` stay the same on every beat. With an error status there is one beat and no
  * data.
  */
case class TargetCompletion() extends Bundle {
  val requester    = RequesterId()
  val status       = Bits(3 bits)
  val lowerAddress = UInt(7 bits) // Lowest 7 bits of the first enabled byte's address.
  // Bytes of the read that are still to be sent, those of this completion included: 1 to 4096.
  val byteCount = UInt(13 bits)
  val dwords    = UInt(11 bits)
  val final_    = Bool() // The last completion of its request: it frees the credit.
  // Only used with an error status: the hard block logs these fields.
  val request = ErrorInformation()
  val data    = Bits(HardBlock.DataWidth bits) // Dword 0 is in lane 0 of the first beat.
}

/** The fields of a host's request that its error completion repeats, beside those in RequesterId
  * (PG213, "Completer Completion Descriptor").
  */
case class ErrorInformation() extends Bundle {
  val address         = UInt(64 bits)
  val dwords          = UInt(11 bits)
  val firstBe, lastBe = Bits(4 bits)
}
