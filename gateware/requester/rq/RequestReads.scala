// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rq

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.{ModuleName, Numbers, ReadClaim}

/** Chooses among the reads of all clients and holds one at a time, until `claim` has reserved what
  * its completions need: a tag, landing space and completion space.
  *
  * While `enable` is low nothing is claimed, and a claim that was offered is withdrawn. A read that
  * has its tag is issued even then, since its timeout already runs. If the read waited, it might go
  * out when its tag already belongs to another read.
  */
case class RequestReads(p: RequestParam) extends Component {
  val clients = p.readers.size
  val io = new Bundle {
    val enable = in Bool ()
    val pieces = Vec(slave(Stream(RequestPiece(p))), clients)
    val claim  = master(Stream(ReadClaim(clients)))
    val tag    = in UInt (Numbers.TagWidth bits)
    val room   = in Vec (Bool(), clients)
    val issue  = master(Stream(RequestFramer.Issue(p)))
    val idle   = out Bool ()
  }

  case class Wanted() extends Bundle {
    val client = UInt(log2Up(clients) bits)
    val piece  = RequestPiece(p)
  }

  val arbiter = RequestArbiter(RequestPiece(p), clients)
  ModuleName(arbiter, "reads")
  for (((input, piece), room) <- arbiter.io.inputs.zip(io.pieces).zip(io.room))
    input << piece.continueWhen(room)
  arbiter.io.again := False
  val wanted = Wanted()
  wanted.client := OHToUInt(arbiter.io.grant)
  wanted.piece  := arbiter.io.output.payload
  val waiting = arbiter.io.output.translateWith(wanted).m2sPipe()

  val claimed = Stream(RequestFramer.Issue(p))
  val piece   = waiting.piece
  val address = piece.address @@ U(0, 2 bits)
  // The tag comes back in the cycle of the claim, so `waiting`, `claim` and `claimed` move
  // together. No operator does that: StreamFork lets one output go before the other.
  io.claim.valid         := waiting.valid && claimed.ready && io.enable
  io.claim.client        := waiting.client
  io.claim.context       := piece.context
  io.claim.dwords        := piece.dwords
  io.claim.address       := address.resized
  io.claim.firstBe       := piece.firstBe
  io.claim.lastBe        := piece.lastBe
  io.claim.requestDwords := piece.requestDwords
  io.claim.lastOfRequest := piece.lastOfRequest
  // No stream operator fits: `waiting` leaves in the cycle in which its tag is claimed.
  waiting.ready := io.claim.fire

  // `issue` has registers for `valid` and for `ready`, since the claim's `ready` and the turn of
  // RequestPath's arbiter both come late in the cycle.
  claimed.valid := io.claim.fire
  claimed.payload.of(piece)
  claimed.moreBeats := 0
  claimed.start     := 0
  claimed.tag       := io.tag
  io.issue << claimed.s2mPipe().m2sPipe()
  io.idle := !(waiting.valid && io.enable) && claimed.ready && !io.issue.valid
}
