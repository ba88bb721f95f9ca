// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.mmio

import spinal.core._
import spinal.lib._

/** Lets a read of a slow target (Wishbone or AXI4) start when all earlier writes to the target are
  * done.
  *
  * Later writes may pass the read, as PCIe demands, so a read that is stuck holds up no write. At
  * most one read per cycle gets leave to start, in the order of the reads. `free` counts the reads
  * that have this leave and have not started. Such a read may start at any later time, even if the
  * counters of writes wrap meanwhile. At most half of the counters' range of writes may be under
  * way.
  */
case class WriteOrder(width: Int = 8) extends Component {
  require(width >= 2, s"counters of $width bits: `done` has one bit less, so there must be 2")

  val io = new Bundle {
    val accepted = in Bool ()               // A write has entered the target.
    val done     = in UInt (width - 1 bits) // Number of writes that ended in this cycle.
    val read     = in Bool ()               // A read has entered; never with `accepted`.
    val start    = in Bool ()               // The target has started a read that may start.
    val mayStart = out Bool ()              // The target may start its next read.
    // The target gives up the oldest read that may not start yet.
    val skip = in Bool ()
  }

  val accepted, done = Reg(UInt(width bits)) init 0
  accepted := accepted + io.accepted.asUInt
  done     := done + io.done

  val behind = StreamFifo(UInt(width bits), MmioParam.Reads, latency = 1)
  // The push ignores `ready`: at most MmioParam.Reads reads are inside, so `behind` has room.
  behind.io.push.valid   := io.read
  behind.io.push.payload := accepted
  val reached = !(done - behind.io.pop.payload).msb
  // No stream operator fits: an entry is only dropped, when its read may start or is given up.
  behind.io.pop.ready := reached || io.skip

  val free = Reg(UInt(log2Up(MmioParam.Reads + 1) bits)) init 0
  free        := free + (behind.io.pop.fire && !io.skip).asUInt - io.start.asUInt
  io.mayStart := free =/= 0
}
