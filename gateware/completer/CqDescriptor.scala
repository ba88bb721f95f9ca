// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._

/** PG213, "Completer Request Descriptor": the first four dwords of a request on CQ. */
case class CqDescriptor() extends Bundle {
  val addressType  = Bits(2 bits)
  val address      = UInt(62 bits) // In dwords.
  val dwords       = UInt(11 bits)
  val kind         = Bits(4 bits)
  val reserved     = Bits(1 bits)
  val requester    = Bits(16 bits)
  val tag          = Bits(8 bits)
  val function     = Bits(8 bits)
  val bar          = UInt(3 bits)
  val aperture     = UInt(6 bits)  // The BAR's size is 1 << this.
  val trafficClass = Bits(3 bits)
  val attributes   = Bits(3 bits)
  val unused       = Bits(1 bits)
}

/** PG213, table "Transaction Types". */
object CqKind {
  def MemoryRead     = B"0000"
  def MemoryWrite    = B"0001"
  def CompareAndSwap = B"0110"
  def LockedRead     = B"0111"

  /** True if the sender waits for a completion. Types 12 to 15 are messages, or reserved, and
    * posted. Configuration requests never come on CQ.
    */
  def nonPosted(kind: Bits): Bool =
    !(kind === MemoryWrite || kind(3 downto 2) === B"11")

  def atomic(kind: Bits): Bool = kind === B"0100" || kind === B"0101" || kind === CompareAndSwap
}

/** Why a request was refused. */
object Refusal extends SpinalEnum(binarySequential) {
  val unsupported = newElement() // A kind that no port serves.
  val unmatched   = newElement() // No window holds the address.
  val malformed   = newElement() // It crosses 4 KiB, or its enables or length are illegal.
  val cut         = newElement() // The block discontinued the request.
}

/** What is kept of a refused request, to answer and to report it. */
case class RefusedRequest() extends Bundle {
  val kind            = Bits(4 bits)
  val bar             = UInt(3 bits)
  val address         = UInt(64 bits)
  val dwords          = UInt(11 bits)
  val firstBe, lastBe = Bits(4 bits)
  val requester       = Requester()
}
