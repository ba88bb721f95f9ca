// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** A read to be entered into ReadTable. */
case class ReadIssue(p: ReturnParam) extends Bundle {
  val tag   = UInt(p.tagWidth bits)
  val entry = ReadEntry(p)
}

/** What is delivered when a read has ended, after the earlier reads of its client.
  *
  * A beat that two reads of one request share belongs to the later read.
  */
case class AwaitedRead() extends Bundle {
  val beats         = UInt(5 bits)  // 0 to 17.
  val lastDword     = UInt(3 bits)  // Lane of the last dword, if the request ends here.
  val partial       = Bool()        // The last dwords leave with the next read's first beat.
  val lastOfRequest = Bool()
  val dwords        = UInt(11 bits) // Of the client's whole request.
  val context       = Bits(16 bits)
}

/** The end of what a client has claimed of its ring. */
case class RingEnd(p: ReturnParam) extends Bundle {
  val dword = UInt(p.dwordWidth bits) // Where the client's next read lands.
  // The next read's number; the upper bit toggles each round.
  val order = UInt(p.orderWidth + 1 bits)
}

/** Reserves tag, ring space and completion space, one read at a time, and says where the read
  * lands.
  *
  * Reads of one request land directly behind each other. Every request starts on a new beat.
  */
case class ReadClaims(p: ReturnParam) extends Component {
  val io = new Bundle {
    val claim  = slave(Stream(ReadClaim(p.clients)))
    val tag    = out UInt (8 bits)
    val rcb128 = in Bool ()
    val tick   = in UInt (7 bits)

    val tags = slave(Stream(FreeTag(p)))

    val offered = master(Flow(ReadExtent()))
    val take    = master(Flow(ReadExtent()))
    val fits    = in Bool ()

    val issue   = master(Flow(ReadIssue(p)))
    val awaited = master(Flow(AwaitedRead()))   // Valid with `issue`.
    val client  = out UInt (p.clientWidth bits) // The client of `issue` and of `awaited`.
    val ends    = out Vec (RingEnd(p), p.clients)
  }

  io.claim.ready := io.tags.valid && io.fits
  io.tag         := io.tags.tag.resized
  io.tags.ready  := io.claim.fire

  def extent(claim: ReadClaim): ReadExtent = {
    val read = ReadExtent()
    read.address := claim.address(9 downto 2)
    read.dwords  := claim.dwords
    read.rcb128  := io.rcb128
    read
  }
  val fired = RegNext(io.claim.fire) init False
  val claim = RegNext(io.claim.payload)
  val tag   = RegNext(io.tags.payload)
  val read  = extent(claim)
  io.offered.valid   := RegNext(io.claim.valid && !io.claim.ready) init False
  io.offered.payload := read
  io.take.valid      := fired
  io.take.payload    := read

  val start = RingEnd(p)
  val stop  = start.dword + claim.dwords
  val up    = (stop(2 downto 0) =/= 0).asUInt // 1 if the last beat is not full.
  for ((end, client) <- io.ends.zipWithIndex) {
    val next = Reg(RingEnd(p))
    next.dword init 0
    next.order init 0
    when(fired && claim.client === client) {
      next.order := start.order + 1
      next.dword := stop
      when(claim.lastOfRequest) { next.dword := ((stop >> 3) + up) @@ U(0, 3 bits) }
    }
    end := next
  }
  start := io.ends(claim.client)

  val issue = ReadIssue(p)
  issue.tag              := tag.tag
  issue.entry.generation := !tag.generation
  issue.entry.client     := claim.client
  issue.entry.order      := start.order
  issue.entry.landingEnd := stop
  issue.entry.addressEnd := read.address + read.dwords
  issue.entry.dwords     := claim.dwords
  issue.entry.skip       := RequestEnables.skipped(claim.firstBe)
  issue.entry.trail :=
    RequestEnables.trailing((claim.dwords === 1) ? claim.firstBe | claim.lastBe)
  issue.entry.rcb128 := io.rcb128
  issue.entry.stamp  := io.tick
  io.issue.valid     := RegNext(fired) init False
  io.issue.payload   := RegNext(issue)

  val awaited = AwaitedRead()
  // Dwords counted from the beginning of the read's first beat.
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
