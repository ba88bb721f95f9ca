// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rc

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.{ByteEnables, Numbers, ReadClaim}

/** Reserves for each read TLP of the card a tag, space in its client's ring of the landing memory,
  * and space for its completions in the hard block's receive buffer. Says where the read's data
  * lands.
  *
  * One read is claimed at a time. The data of reads that were cut from one request lands without
  * gaps. The data of every request starts on a new beat.
  */
case class ReadClaims(p: ReturnParam) extends Component {
  import ReadClaims._
  val io = new Bundle {
    val claim  = slave(Stream(ReadClaim(p.clients)))
    val tag    = out UInt (Numbers.TagWidth bits)
    val rcb128 = in Bool ()
    val tick   = in UInt (7 bits)

    val tags = slave(Stream(TagPool.FreeTag(p)))

    val offered = master(Flow(CompletionCredits.ReadExtent()))
    val take    = master(Flow(CompletionCredits.ReadExtent()))
    val fits    = in Bool ()

    val issue = master(Flow(ReadIssue(p)))
    // `awaited` and `client` are about the read of `issue`, and valid in the same cycle.
    val awaited = master(Flow(AwaitedRead()))
    val client  = out UInt (p.clientWidth bits)
    val ends    = out Vec (RingEnd(p), p.clients)
  }

  // StreamJoin is not used: the claim's `ready` would also depend on its `valid`, on a longer path.
  io.claim.ready := io.tags.valid && io.fits
  io.tag         := io.tags.tag.resized
  io.tags.ready  := io.claim.fire

  def extent(claim: ReadClaim): CompletionCredits.ReadExtent = {
    val read = CompletionCredits.ReadExtent()
    read.address := claim.address(9 downto 2)
    read.dwords  := claim.dwords
    read.rcb128  := io.rcb128
    read
  }
  val fired = RegNext(io.claim.fire) init False
  val claim = RegNext(io.claim.payload)
  val tag   = RegNext(io.tags.payload)
  val read  = extent(claim)
  val waits = RegNext(io.claim.valid && !io.claim.ready) init False
  io.offered.valid   := waits
  io.offered.payload := read
  io.take.valid      := fired
  io.take.payload    := read

  val start = RingEnd(p)
  val stop  = start.dword + claim.dwords
  val up    = (stop(2 downto 0) =/= 0).asUInt // 1 if the read's last beat is not full.
  val rings = Vec.fill(p.clients)(Reg(RingEnd(p)))
  for ((next, client) <- rings.zipWithIndex) {
    next.dword init 0
    next.order init 0
    when(fired && claim.client === client) {
      next.order := start.order + 1
      next.dword := stop
      when(claim.lastOfRequest) { next.dword := ((stop >> 3) + up) @@ U(0, 3 bits) }
    }
  }
  io.ends := rings
  start   := rings(claim.client)

  val issue = Flow(ReadIssue(p))
  issue.valid            := fired
  issue.tag              := tag.tag
  issue.entry.generation := !tag.generation
  issue.entry.client     := claim.client
  issue.entry.order      := start.order
  issue.entry.landingEnd := stop
  issue.entry.addressEnd := read.address + read.dwords
  issue.entry.dwords     := claim.dwords
  issue.entry.skip       := ByteEnables.firstGap(claim.firstBe)
  issue.entry.trail :=
    ByteEnables.lastGap(claim.dwords === 1, claim.firstBe, claim.lastBe)
  issue.entry.rcb128 := io.rcb128
  issue.entry.stamp  := io.tick
  io.issue << issue.m2sPipe()

  val awaited = AwaitedRead()
  // `begun` is the number of dwords from lane 0 of the read's first beat to the read's end. `ends`
  // is 7 more for the last read of a request, so that its last beat counts even if it is not full.
  val begun = start.dword(2 downto 0).resize(9 bits) + claim.dwords
  val ends  = begun + (claim.lastOfRequest ? U(7) | U(0))
  awaited.beats         := (ends >> 3).resized
  awaited.lastDword     := (stop - 1).resized
  awaited.partial       := begun(2 downto 0) =/= 0 && !claim.lastOfRequest
  awaited.lastOfRequest := claim.lastOfRequest
  awaited.dwords        := claim.requestDwords
  awaited.context       := claim.context
  io.awaited.valid      := io.issue.valid
  io.awaited.payload    := RegNext(awaited)
  io.client             := RegNext(claim.client)
}

object ReadClaims {

  /** A read TLP of the card that has just got its tag. */
  case class ReadIssue(p: ReturnParam) extends Bundle {
    val tag   = UInt(p.tagWidth bits)
    val entry = ReadTable.Entry(p)
  }

  /** The data that a client gets for one read TLP. LandingReader delivers it when the read has
    * ended and all earlier reads of the client have been delivered.
    *
    * A client's request may be cut into several reads. A beat that holds dwords of two of them is
    * delivered with the later read.
    */
  case class AwaitedRead() extends Bundle {
    val beats     = UInt(5 bits) // Beats delivered with this read: 0 to 17.
    val lastDword = UInt(3 bits) // Lane of the read's last dword. Used only with `lastOfRequest`.
    // The read ends inside a beat, whose dwords are delivered with the client's next read.
    val partial       = Bool()
    val lastOfRequest = Bool()
    // Dwords of the client's whole request, not of this read.
    val dwords  = UInt(Numbers.DwordCountWidth bits)
    val context = Bits(Numbers.ContextWidth bits)
  }

  /** The end of a client's ring: the place and the number of the client's next read. */
  case class RingEnd(p: ReturnParam) extends Bundle {
    val dword = UInt(p.dwordWidth bits) // Ring position of the next read's first dword.
    // Number of the client's next read. It wraps: the upper bit toggles with each round.
    val order = UInt(p.orderWidth + 1 bits)
  }
}
