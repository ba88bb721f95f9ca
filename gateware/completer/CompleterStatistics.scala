// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.completer

import spinal.core._

import lanebox.vocabulary.EventCounter

/** Counts the host's requests that the Completer's parser refuses. */
case class CompleterStatistics() extends Component {
  import CompleterStatistics._

  val io = new Bundle {
    val events   = in(CqParser.CqEvents())
    val clear    = in Bool ()
    val counters = out(CompleterCounters())
  }

  val unsupported  = EventCounter(io.events.unsupported, io.clear)
  val dropped      = EventCounter(io.events.dropped, io.clear)
  val malformed    = EventCounter(io.events.malformed, io.clear)
  val discontinued = EventCounter(io.events.discontinued, io.clear)
  io.counters.unsupported  := unsupported.count
  io.counters.dropped      := dropped.count
  io.counters.malformed    := malformed.count
  io.counters.discontinued := discontinued.count
}

object CompleterStatistics {

  case class CompleterCounters() extends Bundle {
    val unsupported = UInt(32 bits) // Non-posted requests answered with Unsupported Request.
    val dropped     = UInt(32 bits) // Posted requests that were refused and not carried out.
    // Requests counted in `unsupported` or `dropped` because they break a rule.
    val malformed    = UInt(32 bits)
    val discontinued = UInt(32 bits) // Requests that the hard block cut short, not carried out.
  }
}
