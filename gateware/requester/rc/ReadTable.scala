// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** What a read's completions are checked against, and where they land. Written once for each read.
  */
case class ReadEntry(p: ReturnParam) extends Bundle {
  val generation = Bool()                      // Toggles with every read under the tag.
  val client     = UInt(p.clientWidth bits)
  val order      = UInt(p.orderWidth + 1 bits) // The read's number among those of its client.
  // Ring position behind the read's last dword, in dwords.
  val landingEnd = UInt(p.dwordWidth bits)
  val addressEnd = UInt(8 bits) // Address behind the read's last dword, in dwords.
  val dwords     = UInt(8 bits)
  val skip       = UInt(2 bits) // Bytes of the first dword that are not asked for.
  val trail      = UInt(2 bits) // Bytes of the last dword that are not asked for.
  val rcb128     = Bool()
  val stamp      = UInt(7 bits) // When it was issued, in ticks.
}

/** How far a read has come. Only completions and the clock write it. */
case class ReadProgress() extends Bundle {
  val generation = Bool()       // If not the entry's, this is an earlier read's: void.
  val waiting    = Bool()       // The read waits for completions.
  val overdue    = Bool()       // The read timed out: its completions are dropped.
  val begun      = Bool()       // Some of the data has landed.
  val broken     = Bool()       // A completion was wrong, so later ones may not fit.
  val left       = UInt(8 bits) // Dwords that have not landed yet.
}

/** Where a completion's first dword lands. */
case class Landing(p: ReturnParam) extends Bundle {
  val client = UInt(p.clientWidth bits)
  val dword  = UInt(p.dwordWidth bits) // In the client's ring.
}

/** The table's decision on a visit, one cycle after `landing`. */
case class Verdict(p: ReturnParam) extends Bundle {
  val probe      = Bool()
  val tag        = UInt(p.tagWidth bits)
  val generation = Bool()
  val client     = UInt(p.clientWidth bits)
  val order      = UInt(p.orderWidth + 1 bits)
  val lands      = Bool()                  // The payload is what the read waits for: write it.
  val dwords     = UInt(8 bits)            // Dwords of the payload, if it lands.
  val dword      = UInt(p.dwordWidth bits) // In the client's ring.
  val waited     = Bool()                  // The read waited for a completion until now.
  val error      = ReadError()
  val finish     = Bool()                  // The read has ended.
  val free       = Bool()                  // The tag is free again.
  val suspect    = Bool()                  // With `free`: the tag's read timed out.
  // For the counters: kinds of completions that no read waits for.
  val unexpected, late, duplicate = Bool()
}

/** Completion space that comes back: from `from` up to `to`, or, with `all`, up to `end`. */
case class SpaceReturn() extends Bundle {
  val all      = Bool()
  val from, to = UInt(8 bits) // Dword addresses.
  // Dword address behind the read.
  val end    = UInt(8 bits)
  val rcb128 = Bool()
}

/** The outstanding reads by tag. Checks completions against them and finds timeouts.
  *
  * A claim writes an entry; visits read and write the progress. So each memory has one writer. A
  * visit takes three cycles. Two visits to the same tag must not follow each other directly.
  */
case class ReadTable(p: ReturnParam) extends Component {
  val io = new Bundle {
    val clear   = in Bool ()                  // After reset: marks the tag of `issue` as unused.
    val issue   = slave(Flow(ReadIssue(p)))
    val tick    = in UInt (7 bits)
    val visit   = slave(Flow(TagVisit()))
    val landing = master(Flow(Landing(p)))    // Two cycles after the visit.
    val verdict = master(Flow(Verdict(p)))    // Three cycles after the visit.
    val space   = master(Flow(SpaceReturn())) // Three cycles after the visit.
  }
  val entries  = Mem(ReadEntry(p), p.tags)
  val progress = Mem(ReadProgress(), p.tags)
  entries.write(io.issue.tag, io.issue.entry, io.issue.valid)

  val decided = Flow(ReadProgress())
  val decides = UInt(p.tagWidth bits)

  /** Cycle 1: reads the tag's words. `changes`: an earlier visit to the tag is decided in this
    * cycle, so the progress read here is out of date.
    */
  val lookup = new Area {
    val tag     = io.visit.header.tag.resize(p.tagWidth bits)
    val known   = if (p.tagWidth == 8) True else !io.visit.header.tag.drop(p.tagWidth).orR
    val entry   = entries.readAsync(tag)
    val read    = progress.readAsync(tag)
    val changes = decided.valid && decides === tag
  }

  /** Cycle 2: the state of the read that has the tag. */
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

    val rest    = left.resize(12 bits) - header.dwords // Negative if too many dwords came.
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

    // `stray`: the answer to an earlier read under this tag. The block reports it as a misfit; it
    // sets `done` only if the read that has the tag now has ended with it. If the block found
    // nothing wrong, `done` is about the earlier read.
    val stray     = misfit && !header.done || data && !place && !broken
    val completes = !visit.probe && !foreign
    val answers   = completes && waiting && !stray
    val ends      = header.done || reports
    val lands = answers && fits && !reports && // A poisoned completion still has its data.
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

  /** The error code says that byte count or address are not what the tag's read waits for. */
  def misfit(header: CompletionHeader): Bool =
    header.code === CompletionHeader.ByteCount || header.code === CompletionHeader.LowerAddress

  /** A successful completion with no error code but, perhaps, poison. */
  def data(header: CompletionHeader): Bool =
    header.status === CompletionStatus.Success &&
      (header.code === CompletionHeader.Normal || header.code === CompletionHeader.Poisoned)

  /** The error that the descriptor reports, if any. */
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
    // With these two codes only the tag is valid, so they override the status.
    when(header.code === CompletionHeader.Reset) { error := ReadError.cut }
    when(header.code === CompletionHeader.Timeout) { error := ReadError.timeout }
    error
  }
}
