// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** What a read's completions are checked against and where they land; written once per read. */
case class ReadEntry(p: ReturnParam) extends Bundle {
  val generation = Bool()                      // Turns with every read under the tag.
  val client     = UInt(p.clientWidth bits)
  val order      = UInt(p.orderWidth + 1 bits) // Its number among the client's reads.
  val landingEnd = UInt(p.dwordWidth bits)     // Dword in the ring behind the read's last.
  val addressEnd = UInt(8 bits)                // Address behind the read's last dword, in dwords.
  val dwords     = UInt(8 bits)
  val skip       = UInt(2 bits)                // Bytes not asked for in the first dword
  val trail      = UInt(2 bits)                // and in the last.
  val rcb128     = Bool()
  val stamp      = UInt(7 bits)                // When it was issued, in ticks.
}

/** How far a read is; written by completions and by the clock alone. */
case class ReadProgress() extends Bundle {
  val generation = Bool()       // Of the read that this is about: an older one's says nothing.
  val waiting    = Bool()       // Completions are to come.
  val overdue    = Bool()       // They were, and are dropped now.
  val begun      = Bool()       // Some of the data is here.
  val broken     = Bool()       // A completion was wrong, so that those behind it may not fit.
  val left       = UInt(8 bits) // Dwords to come.
}

/** Where a completion's first dword lands. */
case class Landing(p: ReturnParam) extends Bundle {
  val client = UInt(p.clientWidth bits)
  val dword  = UInt(p.dwordWidth bits) // In the client's ring.
}

/** What the table makes of a visit, one cycle behind `landing`. */
case class Verdict(p: ReturnParam) extends Bundle {
  val probe      = Bool()
  val tag        = UInt(p.tagWidth bits)
  val generation = Bool()
  val client     = UInt(p.clientWidth bits)
  val order      = UInt(p.orderWidth + 1 bits)
  val lands      = Bool()                  // The payload is what the read waits for.
  val dwords     = UInt(8 bits)            // Of the payload, when it lands.
  val dword      = UInt(p.dwordWidth bits) // In the client's ring.
  val waited     = Bool()                  // The read was outstanding.
  val error      = ReadError()
  val finish     = Bool()                  // Nothing more comes for the read.
  val free       = Bool()                  // Nor under its tag.
  val suspect    = Bool()                  // With free: the read timed out.
  val unexpected, late, duplicate = Bool() // Of completions without a read that waits.
}

/** Completion space that comes back: pieces up to `to`, or all that is left. */
case class SpaceReturn() extends Bundle {
  val all      = Bool()
  val from, to = UInt(8 bits) // Dword addresses.
  val end      = UInt(8 bits)
  val rcb128   = Bool()
}

/** The outstanding reads by tag: checks completions and keeps their time.
  *
  * A claim writes an entry, visits read and write the progress; each memory has one writer. Visits
  * take three cycles, and those to the same tag must not follow each other directly.
  */
case class ReadTable(p: ReturnParam) extends Component {
  val io = new Bundle {
    val clear   = in Bool ()                  // Makes the tag of `issue` one of no read.
    val issue   = slave(Flow(ReadIssue(p)))
    val tick    = in UInt (7 bits)
    val visit   = slave(Flow(TagVisit()))
    val landing = master(Flow(Landing(p)))    // Two cycles after the visit,
    val verdict = master(Flow(Verdict(p)))    // three,
    val space   = master(Flow(SpaceReturn())) // three.
  }
  val entries  = Mem(ReadEntry(p), p.tags)
  val progress = Mem(ReadProgress(), p.tags)
  entries.write(io.issue.tag, io.issue.entry, io.issue.valid)

  val decided = Flow(ReadProgress())
  val decides = UInt(p.tagWidth bits)

  /** Cycle 1: the tag's words, unless the visit before the last is about to change them. */
  val lookup = new Area {
    val tag     = io.visit.header.tag.resize(p.tagWidth bits)
    val known   = if (p.tagWidth == 8) True else !io.visit.header.tag.drop(p.tagWidth).orR
    val entry   = entries.readAsync(tag)
    val read    = progress.readAsync(tag)
    val changes = decided.valid && decides === tag
  }

  /** Cycle 2: where the read stands. */
  val prepare = new Area {
    val valid   = RegNext(io.visit.valid) init False
    val visit   = RegNext(io.visit.payload)
    val known   = RegNext(lookup.known)
    val entry   = RegNext(lookup.entry)
    val read    = RegNext(lookup.read)
    val changed = RegNext(lookup.changes)
    val change  = RegNext(decided.payload)
    val now     = changed ? change | read

    val header  = visit.header
    val fresh   = entry.generation =/= now.generation
    val waiting = known && (fresh || now.waiting)
    val overdue = known && !fresh && now.overdue
    val left    = fresh ? entry.dwords | now.left
    val begun   = !fresh && now.begun
    val broken  = !fresh && now.broken
    val skip    = begun ? U(0, 2 bits) | entry.skip
    val age     = io.tick - entry.stamp

    val rest    = left.resize(12 bits) - header.dwords // Below zero: too many came.
    val bytes   = header.byteCount +^ (skip +^ entry.trail)
    val from    = entry.addressEnd - left
    val landing = entry.landingEnd - left
  }

  /** Cycle 3: whether the completion is what the read waits for, and what it changes. */
  val decide = new Area {
    val valid   = RegNext(prepare.valid) init False
    val visit   = RegNext(prepare.visit)
    val known   = RegNext(prepare.known)
    val entry   = RegNext(prepare.entry)
    val tag     = visit.header.tag.resize(p.tagWidth bits)
    val waiting = RegNext(prepare.waiting)
    val overdue = RegNext(prepare.overdue)
    val left    = RegNext(prepare.left)
    val begun   = RegNext(prepare.begun)
    val broken  = RegNext(prepare.broken)
    val skip    = RegNext(prepare.skip)
    val rest    = RegNext(prepare.rest)
    val bytes   = RegNext(prepare.bytes)
    val from    = RegNext(prepare.from)
    val landing = RegNext(prepare.landing)
    val expired = RegNext(prepare.age >= p.timeoutTicks)
    val retired = RegNext(prepare.age >= p.quarantineTicks)
    val empty   = RegNext(prepare.header.dwords === 0)
    val whole   = RegNext(prepare.rest === 0)
    val reason  = RegNext(ReadTable.reason(prepare.header))
    val reports = RegNext(
      prepare.header.code === CompletionHeader.Reset ||
        prepare.header.code === CompletionHeader.Timeout
    )
    val foreign = RegNext(prepare.header.code === CompletionHeader.InvalidTag)
    val misfit  = RegNext(ReadTable.misfit(prepare.header))
    val data    = RegNext(ReadTable.data(prepare.header))

    val header = visit.header
    val place =
      bytes === (left @@ U(0, 2 bits)).resized && header.address === (from.resize(5 bits) @@ skip)
    val fits = !rest.msb && !empty && whole === header.done && place

    // An earlier read's answer. The block names such a one itself, and says `done` if the read that
    // has the tag now has ended with it. A completion that the block found nothing wrong with says
    // `done` of its own read.
    val stray     = misfit && !header.done || data && !place && !broken
    val completes = !visit.probe && !foreign
    val answers   = completes && waiting && !stray
    val ends      = header.done || reports
    val lands = answers && fits && !reports && // An error by name may still have its data.
      (reason === ReadError.none || reason === ReadError.poisoned)
    val expires = visit.probe && waiting && expired
    val finish  = answers && ends || expires
    val free = answers && ends || completes && overdue && ends ||
      visit.probe && overdue && retired
    val error = expires ? ReadError.timeout() |
      ((reason === ReadError.none && !fits) ? ReadError.malformed() | reason)

    decided.valid      := valid && known
    decided.generation := entry.generation
    decided.waiting    := waiting && !finish
    decided.overdue    := (overdue || expires) && !free
    decided.begun      := begun || lands
    decided.broken     := broken || completes && waiting && !lands && !(data && stray)
    decided.left       := lands ? rest.resize(8 bits) | left
    decides            := tag
    when(io.clear) {
      decided.valid      := True
      decided.generation := io.issue.entry.generation
      decided.waiting    := False
      decided.overdue    := False
      decides            := io.issue.tag
    }
    progress.write(decides, decided.payload, decided.valid)
  }

  io.landing.valid  := decide.valid
  io.landing.client := decide.entry.client
  io.landing.dword  := decide.landing

  val verdict = Verdict(p)
  verdict.probe      := decide.visit.probe
  verdict.tag        := decide.tag
  verdict.generation := decide.entry.generation
  verdict.client     := decide.entry.client
  verdict.order      := decide.entry.order
  verdict.lands      := decide.lands
  verdict.dwords     := decide.header.dwords.resized
  verdict.dword      := decide.landing
  verdict.waited     := decide.answers || decide.expires
  verdict.error      := decide.error
  verdict.finish     := decide.finish
  verdict.free       := decide.free
  verdict.suspect    := decide.overdue
  verdict.unexpected := !decide.visit.probe && !decide.answers
  verdict.late       := decide.completes && decide.overdue
  verdict.duplicate  := verdict.unexpected && decide.known && !decide.overdue
  io.verdict.valid   := RegNext(decide.valid) init False
  io.verdict.payload := RegNext(verdict)

  val space = SpaceReturn()
  space.all        := decide.free
  space.from       := decide.from
  space.to         := decide.from + decide.header.dwords.resized
  space.end        := decide.entry.addressEnd
  space.rcb128     := decide.entry.rcb128
  io.space.valid   := RegNext(decide.valid && (decide.free || decide.lands)) init False
  io.space.payload := RegNext(space)
}

object ReadTable {

  /** The block says by name that byte count or address are not what the tag's read waits for. */
  def misfit(header: CompletionHeader): Bool =
    header.code === CompletionHeader.ByteCount || header.code === CompletionHeader.LowerAddress

  /** A successful completion that the block found nothing wrong with but poison. */
  def data(header: CompletionHeader): Bool =
    header.status === CompletionStatus.Success &&
      (header.code === CompletionHeader.Normal || header.code === CompletionHeader.Poisoned)

  /** Why a completion has no data, as far as the descriptor says it by name. */
  def reason(header: CompletionHeader): ReadError.C = {
    val error = ReadError()
    error := ReadError.malformed
    switch(header.code) {
      is(CompletionHeader.Normal)(error   := ReadError.none)
      is(CompletionHeader.Poisoned)(error := ReadError.poisoned)
      is(CompletionHeader.Status)(error   := ReadError.unsupported)
    }
    when(header.poisoned && header.code === CompletionHeader.Normal) { error := ReadError.poisoned }
    when(header.status =/= CompletionStatus.Success) { error := ReadError.unsupported }
    when(header.status === CompletionStatus.Abort) { error := ReadError.aborted }
    // Nothing but the tag is valid with these.
    when(header.code === CompletionHeader.Reset) { error := ReadError.cut }
    when(header.code === CompletionHeader.Timeout) { error := ReadError.timeout }
    error
  }
}
