// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.completer

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.HardBlock

/** Parses the host's requests to the BARs, hands each to the port that has the BAR window with its
  * address, and sends the ports' completions to the host.
  *
  * {{{
  *   cq ---> CqParser --- requests(i) ---> port i --- completion(i) ---> CcFramer ---> cc
  *             |                                                         ^   |
  *             +-- refused ---> UnsupportedRequests --- completion ------+   | returned
  *                                                                           v
  *   npRequest <---------------------------------------------- NonPostedCredits
  * }}}
  *
  * CompleterStatistics counts what the parser refuses.
  *
  * Reads never hold up CQ: at most `npMax` are inside, and every port takes that many. A port that
  * takes no writes holds up CQ as soon as the parser's store is full, because requests keep the
  * host's order. A BAR must have at least 4 KiB. While `stop` is set no request and no completion
  * begins; `idle` then says that none is half done.
  */
case class Completer(p: CompleterParam) extends Component {
  val io = new Bundle {
    val cq         = slave(HardBlock.Cq())
    val cc         = master(HardBlock.Cc())
    val npRequest  = out Bits (2 bits) // Credits granted to the hard block, pin pcie_cq_np_req.
    val npMax      = in UInt (6 bits)  // Most non-posted requests of the host in the card: 1 to 32.
    val maxPayload = in UInt (3 bits)
    val ports      = Vec(master(TargetPort()), p.ports)
    val stop       = in Bool ()
    val idle       = out Bool ()
    val clear      = in Bool ()
    val counters   = out(CompleterStatistics.CompleterCounters())
  }
  noIoPrefix()

  val parser      = CqParser(p)
  val unsupported = UnsupportedRequests()
  val framer      = CcFramer(p.ports + 1)
  val credits     = NonPostedCredits()
  val statistics  = CompleterStatistics()

  val opened = RegNext(!io.stop) init True
  parser.io.cq << io.cq
  parser.io.maxPayload := io.maxPayload
  parser.io.open       := opened
  unsupported.io.refused << parser.io.refused

  for ((port, i) <- io.ports.zipWithIndex) {
    port.request << parser.io.requests(i)
    val source = framer.io.completions(i)
    source.arbitrationFrom(port.completion)
    source.last       := port.completion.last
    source.completion := port.completion.fragment
    source.kind       := CqKind.MemoryRead
  }
  framer.io.completions(p.ports) << unsupported.io.completion
  framer.io.open := opened
  io.cc << framer.io.cc

  credits.io.limit    := io.npMax
  credits.io.returned := framer.io.returned
  io.npRequest        := B"0" ## credits.io.grant

  val quiet = RegNext(!opened && !parser.io.inside && !framer.io.inside) init False
  io.idle := quiet

  statistics.io.events := parser.io.events
  statistics.io.clear  := io.clear
  io.counters          := statistics.io.counters
}
