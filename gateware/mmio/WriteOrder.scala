// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.mmio

import spinal.core._
import spinal.lib._

/** Lets a read of a slow target go when all writes in front of it are done.
  *
  * Writes behind the read may pass it, as PCIe demands: a read that is stuck holds up no write.
  * Reads are let go in their order, at most one per cycle. Up to half of the counters' range of
  * writes may be under way. A read that was let go once may start at any time later: `free` counts
  * it, even if the counters wrap meanwhile.
  */
case class WriteOrder(width: Int = 8) extends Component {
  val io = new Bundle {
    val accepted = in Bool ()               // A write has entered.
    val done     = in UInt (width - 1 bits) // Writes that have ended in this cycle.
    val read     = in Bool ()               // A read has entered: never in the same cycle.
    val start    = in Bool ()               // A read that was let go has started.
    val mayStart = out Bool ()
    val skip     = in Bool ()               // The first read that was not let go is given up.
  }

  val accepted, done = Reg(UInt(width bits)) init 0
  accepted := accepted + io.accepted.asUInt
  done     := done + io.done

  val behind = StreamFifo(UInt(width bits), MmioParameters.Slots, latency = 1)
  behind.io.push.valid   := io.read
  behind.io.push.payload := accepted
  val reached = !(done - behind.io.pop.payload).msb
  behind.io.pop.ready := reached || io.skip

  val free = Reg(UInt(log2Up(MmioParameters.Slots + 1) bits)) init 0
  free        := free + (behind.io.pop.fire && !io.skip).asUInt - io.start.asUInt
  io.mayStart := free =/= 0
}
