// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.completer

import spinal.core._

import lanebox.vocabulary.EventCounter

/** The counters of host requests that the Completer has refused since reset or `clear`. They wrap.
  */
case class CompleterCounters() extends Bundle {
  val unsupported = UInt(32 bits) // Non-posted requests answered with Unsupported Request.
  val dropped     = UInt(32 bits) // Posted requests that were refused and not carried out.
  // Requests counted in `unsupported` or `dropped` because they break a rule.
  val malformed = UInt(32 bits)
  // Requests that the hard block cut short, so that they were not carried out.
  val discontinued = UInt(32 bits)
}

/** Counts the host's requests that the Completer's parser refuses. */
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
