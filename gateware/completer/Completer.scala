// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** A port of the Completer as its client sees it: requests in, completions back.
  *
  * Requests come in the host's order. The client must take CompleterParam.Reads reads before it has
  * answered any of them, or reads would block CQ. The beats of a completion follow each other
  * without a gap.
  */
case class TargetPort() extends Bundle with IMasterSlave {
  val request    = Stream(Fragment(TargetRequest()))
  val completion = Stream(Fragment(TargetCompletion()))

  override def asMaster(): Unit = {
    master(request)
    slave(completion)
  }
}

/** Parses the host's requests to the BARs, sends each to the port whose address window holds it,
  * and sends the answers.
  *
  * Reads never hold up CQ: at most `npMax` are inside, and every port takes that many. A port that
  * takes no writes holds up CQ as soon as the store is full, because requests keep the host's
  * order. A BAR has at least 4 KiB. While `stop` is set no request and no completion begins; `idle`
  * then says that none is half done.
  */
case class Completer(p: CompleterParam) extends Component {
  val io = new Bundle {
    val cq         = slave(HardBlock.Cq())
    val cc         = master(HardBlock.Cc())
    val npRequest  = out Bits (2 bits) // pcie_cq_np_req
    val npMax      = in UInt (6 bits)  // Most non-posted requests inside: 1 to 32.
    val maxPayload = in UInt (3 bits)
    val ports      = Vec(master(TargetPort()), p.ports)
    val stop       = in Bool ()
    val idle       = out Bool ()
    val clear      = in Bool ()        // Clears the counters and the recorded error.
    val counters   = out(CompleterCounters())
    val error      = out(CompleterError())
  }
  noIoPrefix()

  val parser      = CqParser(p)
  val unsupported = UnsupportedRequests()
  val framer      = CcFramer(p.ports + 1)
  val credits     = NonPostedCredits()
  val statistics  = CompleterStatistics()

  val open = RegNext(!io.stop) init True
  parser.io.cq << io.cq
  parser.io.maxPayload := io.maxPayload
  parser.io.open       := open
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
  framer.io.open := open
  io.cc << framer.io.cc

  credits.io.limit    := io.npMax
  credits.io.returned := framer.io.returned
  io.npRequest        := credits.io.grant.asBits.resized

  io.idle := RegNext(!open && !parser.io.inside && !framer.io.inside) init False

  statistics.io.events   := parser.io.events
  statistics.io.cqBeat   := io.cq.fire
  statistics.io.cqStall  := io.cq.isStall
  statistics.io.ccBeat   := io.cc.fire
  statistics.io.ccStall  := io.cc.isStall
  statistics.io.ccLast   := io.cc.fire && io.cc.last
  statistics.io.returned := framer.io.returned
  statistics.io.clear    := io.clear
  io.counters            := statistics.io.counters
  io.error               := statistics.io.error
}
