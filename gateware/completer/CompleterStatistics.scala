// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.completer

import spinal.core._

import lanebox.vocabulary.EventCounter

/** Host requests that were refused since reset or `clear`; counters wrap. */
case class CompleterCounters() extends Bundle {
  val unsupported = UInt(32 bits) // Non-posted requests answered with UR.
  val dropped     = UInt(32 bits) // Posted requests not carried out.
  // Those of the two above that break a rule.
  val malformed = UInt(32 bits)
  // Requests cut by the block, not carried out.
  val discontinued = UInt(32 bits)
}

/** Counts what the Completer's parser refused. */
case class CompleterStatistics() extends Component {
  val io = new Bundle {
    val events   = in(CqEvents())
    val clear    = in Bool ()
    val counters = out(CompleterCounters())
  }

  def count(event: Bool): UInt = EventCounter(event, io.clear)
  io.counters.unsupported  := count(io.events.unsupported)
  io.counters.dropped      := count(io.events.dropped)
  io.counters.malformed    := count(io.events.malformed)
  io.counters.discontinued := count(io.events.discontinued)
}
