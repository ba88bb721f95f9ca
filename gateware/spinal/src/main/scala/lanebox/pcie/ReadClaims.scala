// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** A read on its way into the table. */
case class ReadIssue(p: ReturnParam) extends Bundle {
  val tag   = UInt(p.tagWidth bits)
  val entry = ReadEntry(p)
}

/** A slot with all its reads claimed. */
case class ClosedSlot(p: ReturnParam) extends Bundle {
  val slot          = UInt(p.slotWidth bits)
  val target        = UInt(4 bits) // The count of finished reads at which it is complete.
  val lastDword     = UInt(7 bits)
  val lastOfRequest = Bool()
}

/** What the data of a request is delivered with. */
case class RequestFacts() extends Bundle {
  val dwords  = UInt(11 bits)
  val context = Bits(16 bits)
}

/** Reserves tag, slot and completion space for a read at a time, and says where it lands. */
case class ReadClaims(p: ReturnParam) extends Component {
  val io = new Bundle {
    val claim  = slave(Stream(ReadClaim(p.clients)))
    val tag    = out UInt (8 bits)
    val rcb128 = in Bool ()
    val tick   = in UInt (7 bits)

    val tags  = slave(Stream(FreeTag(p)))
    val slots = slave(Stream(UInt(p.slotWidth bits)))

    val offered = master(Flow(ReadExtent()))
    val take    = master(Flow(ReadExtent()))
    val fits    = in Bool ()

    val slot  = out UInt (p.slotWidth bits) // Just taken: with its count
    val count = in UInt (4 bits)            // of reads finished ever.
    val taken = master(Flow(UInt(p.clientWidth bits)))

    val issue  = master(Flow(ReadIssue(p)))
    val closed = master(Flow(ClosedSlot(p)))
    val facts  = out(RequestFacts())           // With closed
    val client = out UInt (p.clientWidth bits) // and of this client.
  }

  val slotFits = !io.claim.firstOfSlot || io.slots.valid
  io.claim.ready := io.tags.valid && slotFits && io.fits
  io.tag         := io.tags.tag.resized
  io.tags.ready  := io.claim.fire
  io.slots.ready := io.claim.fire && io.claim.firstOfSlot

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

  /** Where a client's next read lands. */
  case class Open() extends Bundle {
    val slot         = UInt(p.slotWidth bits)
    val dword        = UInt(7 bits)
    val base, target = UInt(4 bits)
  }
  io.slot := RegNext(io.slots.payload)
  val opened = Vec(Reg(Open()), p.clients)
  val here   = Open()
  here := opened(claim.client)
  when(claim.firstOfSlot) {
    here.slot   := io.slot
    here.dword  := 0
    here.base   := io.count
    here.target := io.count
  }
  val stop   = here.dword + claim.dwords
  val target = here.target + 1
  when(fired) {
    val next = opened(claim.client)
    next        := here
    next.dword  := stop.resized
    next.target := target
  }
  io.taken.valid   := fired && claim.firstOfSlot
  io.taken.payload := claim.client

  val issue = ReadIssue(p)
  issue.tag              := tag.tag
  issue.entry.generation := !tag.generation
  issue.entry.slot       := here.slot
  issue.entry.base       := here.base
  issue.entry.landingEnd := stop.resized
  issue.entry.addressEnd := read.address + read.dwords
  issue.entry.dwords     := claim.dwords
  issue.entry.skip       := RequestEnables.skipped(claim.firstBe)
  issue.entry.trail :=
    RequestEnables.trailing((claim.dwords === 1) ? claim.firstBe | claim.lastBe)
  issue.entry.rcb128 := io.rcb128
  issue.entry.stamp  := io.tick
  io.issue.valid     := RegNext(fired) init False
  io.issue.payload   := RegNext(issue)

  val closed = ClosedSlot(p)
  closed.slot          := here.slot
  closed.target        := target
  closed.lastDword     := (stop - 1).resized
  closed.lastOfRequest := claim.lastOfRequest
  io.closed.valid      := RegNext(fired && claim.lastOfSlot) init False
  io.closed.payload    := RegNext(closed)
  io.facts.dwords      := RegNext(claim.requestDwords)
  io.facts.context     := RegNext(claim.context)
  io.client            := RegNext(claim.client)
}
