// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** What a completion gives back of the request that it answers. */
case class Requester() extends Bundle {
  val id           = Bits(16 bits)
  val tag          = Bits(8 bits)
  val trafficClass = Bits(3 bits)
  val attributes   = Bits(3 bits)
  val function     = Bits(8 bits)
}

/** A host's memory request to a BAR, byte enables as PG213 gives them.
  *
  * All but `data` is held on every beat; writes bring payload dword 0 in lane 0. `window` says which
  * of the port's windows holds it: one bit for each, in the order of the parameters.
  */
case class TargetRequest() extends Bundle {
  val write           = Bool()
  val bar             = UInt(3 bits)
  val window          = Bits(TargetRequest.Windows bits)
  val offset          = UInt(32 bits) // In the BAR, in bytes, dword aligned.
  val dwords          = UInt(11 bits) // 1 to 1024.
  val firstBe, lastBe = Bits(4 bits)
  val address         = UInt(64 bits) // As the host gave it: an error completion repeats it.
  val requester       = Requester()
  val data            = Bits(HardBlock.DataWidth bits)
}

object TargetRequest {

  /** Windows of one port at most. */
  val Windows = 16
}

/** Completion status, base specification 2.2.9. */
object CompletionStatus {
  def Success     = B"000"
  def Unsupported = B"001"
  def Abort       = B"100"
}

/** One completion. From its first to its last beat `valid` stays high (PG213, CC interface).
  *
  * All but `data` is held on every beat. With an error status there is no data and one beat.
  */
case class TargetCompletion() extends Bundle {
  val requester    = Requester()
  val status       = Bits(3 bits)
  val lowerAddress = UInt(7 bits)       // Of the first enabled byte.
  val byteCount    = UInt(13 bits)      // Still to come, this completion's included: 1 to 4096.
  val dwords       = UInt(11 bits)      // Of this completion.
  val final_       = Bool()             // No other follows for this request: its credit is free.
  val request      = ErrorInformation() // Of the request; only used with an error status.
  val data = Bits(HardBlock.DataWidth bits) // Dword 0 in lane 0.
}

/** What an error completion repeats of its request (PG213, "Completer Completion Descriptor"). */
case class ErrorInformation() extends Bundle {
  val address         = UInt(64 bits)
  val dwords          = UInt(11 bits)
  val firstBe, lastBe = Bits(4 bits)
}
