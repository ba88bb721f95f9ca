// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** What has passed the Completer since reset or `clear`; counters wrap. */
case class CompleterCounters() extends Bundle {
  val reads, writes, completions           = UInt(32 bits)
  val cqBeats, cqStalls, ccBeats, ccStalls = UInt(32 bits)
  val unsupported                          = UInt(32 bits) // Non-posted requests answered with UR.
  val dropped                              = UInt(32 bits) // Posted requests not carried out.
  // Those of the two above that break a rule.
  val malformed = UInt(32 bits)
  // Requests cut by the block, not carried out.
  val discontinued                 = UInt(32 bits)
  val outstanding, outstandingMost = UInt(6 bits) // Non-posted requests inside: now, most.
}

/** The last request that was refused. */
case class CompleterError() extends Bundle {
  val seen    = Bool()
  val refusal = Refusal()
  val request = RefusedRequest()
}

/** Counts what happens at the Completer's pins and what its parser refused. */
case class CompleterStatistics() extends Component {
  val io = new Bundle {
    val events           = in(CqEvents())
    val cqBeat, cqStall  = in Bool ()
    val ccBeat, ccStall  = in Bool ()
    val ccLast, returned = in Bool ()
    val clear            = in Bool ()
    val counters         = out(CompleterCounters())
    val error            = out(CompleterError())
  }

  // Events pass a register first: a counter is a cycle late, and its carry chain starts at a
  // register.
  def count(event: Bool): UInt = {
    val counter = Reg(UInt(32 bits)) init 0
    val seen    = RegNext(event) init False
    when(seen)(counter     := counter + 1)
    when(io.clear)(counter := 0)
    counter
  }
  io.counters.reads        := count(io.events.read)
  io.counters.writes       := count(io.events.write)
  io.counters.completions  := count(io.ccLast)
  io.counters.cqBeats      := count(io.cqBeat)
  io.counters.cqStalls     := count(io.cqStall)
  io.counters.ccBeats      := count(io.ccBeat)
  io.counters.ccStalls     := count(io.ccStall)
  io.counters.unsupported  := count(io.events.unsupported)
  io.counters.dropped      := count(io.events.dropped)
  io.counters.malformed    := count(io.events.malformed)
  io.counters.discontinued := count(io.events.discontinued)

  val outstanding, most = Reg(UInt(6 bits)) init 0
  when(io.events.nonPosted && !io.returned)(outstanding := outstanding + 1)
  when(!io.events.nonPosted && io.returned)(outstanding := outstanding - 1)
  when(io.clear || outstanding > most)(most             := outstanding)
  io.counters.outstanding                               := outstanding
  io.counters.outstandingMost                           := most

  val error = Reg(CompleterError())
  error.seen.init(False)
  when(io.clear)(error.seen := False)
  when(io.events.unsupported || io.events.dropped || io.events.discontinued) {
    error.seen    := True
    error.refusal := io.events.refusal
    error.request := io.events.refused
  }
  io.error := error
}
