// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.vocabulary

import spinal.core._
import spinal.lib._

/** The claim for a read TLP that the card is about to issue: it asks for all that the TLP needs.
  * When the claim is accepted, the TLP has its tag and space for its completions.
  *
  * A client's request is cut into TLPs at 4 KiB and at the host's largest read request. The claims
  * of a request come in the order of its data. `clients` is the number of clients that read.
  */
case class ReadClaim(clients: Int) extends Bundle {
  require(clients >= 1, s"$clients clients: a claim is for one of those that read")

  val client  = UInt(log2Up(clients) bits) // The client's index among the clients that read.
  val context = Bits(Numbers.ContextWidth bits)
  val dwords  = UInt(8 bits)               // Dwords that the TLP asks for: 1 to 128.
  val address = UInt(12 bits)              // Lowest 12 bits of the byte address of the TLP.
  val firstBe, lastBe = Bits(4 bits)
  val requestDwords   = UInt(Numbers.DwordCountWidth bits)
  val lastOfRequest   = Bool() // The TLP is the last one of the client's request.
}
