// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** Fields of a request that its completions repeat. */
case class Requester() extends Bundle {
  val id           = Bits(16 bits)
  val tag          = Bits(8 bits)
  val trafficClass = Bits(3 bits)
  val attributes   = Bits(3 bits)
  val function     = Bits(8 bits)
}

/** A host's memory request to a BAR, with the byte enables as PG213 gives them.
  *
  * All fields but `data` stay the same on every beat. A write brings payload dword 0 in lane 0.
  * `window` has one bit for each window of the port, in the order of the parameters: the one that
  * holds the request is set.
  */
case class TargetRequest() extends Bundle {
  val write           = Bool()
  val bar             = UInt(3 bits)
  val window          = Bits(TargetRequest.Windows bits)
  val offset          = UInt(32 bits) // In the BAR, in bytes, dword aligned.
  val dwords          = UInt(11 bits) // 1 to 1024.
  val firstBe, lastBe = Bits(4 bits)
  // As the host gave it, in bytes: an error completion repeats it.
  val address   = UInt(64 bits)
  val requester = Requester()
  val data      = Bits(HardBlock.DataWidth bits)
}

object TargetRequest {

  /** Most windows of one port. */
  val Windows = 16
}

/** Completion status, base specification 2.2.9. */
object CompletionStatus {
  def Success     = B"000"
  def Unsupported = B"001"
  def Abort       = B"100"
}

/** One completion. `valid` stays high from its first to its last beat (PG213, CC interface).
  *
  * All fields but `data` stay the same on every beat. With an error status there is one beat and no
  * data.
  */
case class TargetCompletion() extends Bundle {
  val requester    = Requester()
  val status       = Bits(3 bits)
  val lowerAddress = UInt(7 bits) // Of the first enabled byte.
  // Bytes still to come, those of this completion included: 1 to 4096.
  val byteCount = UInt(13 bits)
  val dwords    = UInt(11 bits)      // Of this completion.
  val final_    = Bool()             // The request's last completion: the credit is free.
  val request   = ErrorInformation() // Only used with an error status.
  val data = Bits(HardBlock.DataWidth bits) // Dword 0 in lane 0.
}

/** What an error completion repeats of its request (PG213, "Completer Completion Descriptor"). */
case class ErrorInformation() extends Bundle {
  val address         = UInt(64 bits)
  val dwords          = UInt(11 bits)
  val firstBe, lastBe = Bits(4 bits)
}
