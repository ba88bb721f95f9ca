// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** The most that one read TLP may ask for. */
object LargestRead {
  val Bytes  = 512
  val Dwords = Bytes / 4
}

/** One read TLP that is about to be issued; accepting the claim gives the TLP its tag.
  *
  * A client's request is cut into TLPs at 4 KiB and at the host's largest read request. Claims come
  * in the order of the data.
  */
case class ReadClaim(clients: Int) extends Bundle {
  val client  = UInt(log2Up(clients) bits) // Index among the clients that read.
  val context = Bits(16 bits)
  val dwords  = UInt(8 bits)               // Of this TLP: 1 to 128.
  val address = UInt(12 bits)              // Low bits of its first dword's address, in bytes.
  val firstBe, lastBe = Bits(4 bits)
  val requestDwords   = UInt(11 bits) // Of the client's whole request.
  val lastOfRequest   = Bool()        // The client's request ends here.
}
