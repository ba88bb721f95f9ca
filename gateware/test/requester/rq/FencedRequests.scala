// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rq

import spinal.core._
import spinal.core.sim._
import spinal.lib._

import lanebox.vocabulary.{HardBlock, ReadClaim, Request}

/** Design under test: a RequestPath with two fences. The messages of one fence go through RQ
  * (Ordered), those of the other do not (Sent).
  */
case class FencedRequests(p: RequestParam) extends Component {
  val kinds = Seq(Fence.Ordered, Fence.Sent)
  val io = new Bundle {
    val settings  = in(HardBlock.LinkSettings())
    val stop      = in Bool ()
    val idle      = out Bool ()
    val clients   = Vec(slave(Stream(Fragment(Request()))), p.clients.size)
    val claim     = master(Stream(ReadClaim(p.readers.size)))
    val tag       = in UInt (8 bits)
    val room      = in Vec (Bool(), p.readers.size)
    val rq        = master(HardBlock.Rq())
    val sequence  = in(HardBlock.SequencePins())
    val delivered = in Vec (Bool(), p.readers.size)
    val messages  = Vec(slave(Stream(Bits(8 bits))), kinds.size)
    val passed    = Vec(master(Stream(Bits(8 bits))), kinds.size)
  }
  val path = RequestPath(p)
  path.io.settings := io.settings
  path.io.stop     := io.stop
  io.idle          := path.io.idle
  for ((client, port) <- path.io.clients.zip(io.clients)) client << port
  io.claim << path.io.claim
  path.io.tag  := io.tag
  path.io.room := io.room
  io.rq << path.io.rq
  path.io.sequence := io.sequence
  path.io.progress.issued.simPublic()
  for ((kind, i) <- kinds.zipWithIndex) {
    val fence = Fence(p, kind)
    fence.io.progress  := path.io.progress
    fence.io.delivered := io.delivered
    fence.io.message << io.messages(i)
    io.passed(i) << fence.io.passed
  }
}
