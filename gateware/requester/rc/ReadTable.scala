// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rc

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.ReadError
import lanebox.vocabulary.targets.CompletionStatus

/** Holds the outstanding reads of the card by tag, checks completions against them, and finds reads
  * that have timed out.
  *
  * The table has two memories, and each has one writer. A claim writes a read's entry. A visit, for
  * a completion or for a probe of the read's age, reads both memories and writes the progress. A
  * visit takes three cycles. Two visits to the same tag must not follow each other directly.
  */
case class ReadTable(p: ReturnParam) extends Component {
  import ReadTable._
  val io = new Bundle {
    val clear = in Bool () // After reset: marks the tag of `issue` as unused.
    val issue = slave(Flow(ReadClaims.ReadIssue(p)))
    val tick  = in UInt (7 bits)
    val visit = slave(Flow(RcUnpacker.TagVisit()))
    // `landing` comes two cycles after `visit`, `verdict` and `space` come three cycles after it.
    val landing = master(Flow(Landing(p)))
    val verdict = master(Flow(Verdict(p)))
    val space   = master(Flow(SpaceReturn()))
  }

  /** The progress of an outstanding read, which its completions and probes write. */
  case class Progress() extends Bundle {
    // If `generation` differs from that of the read's entry, the progress is that of an earlier
    // read with the tag, and does not count.
    val generation = Bool()
    val waiting    = Bool()
    val overdue    = Bool()       // The read has timed out, so its completions are dropped.
    val begun      = Bool()       // Some of the read's data has landed in the landing memory.
    val broken     = Bool()       // A completion of the read was wrong, so later ones may not fit.
    val left       = UInt(8 bits) // Dwords of the read that have not landed yet.
  }

  val entries  = Mem(Entry(p), p.tags)
  val progress = Mem(Progress(), p.tags)
  entries.write(io.issue.tag, io.issue.entry, io.issue.valid)

  val decided = Flow(Progress())
  val decides = UInt(p.tagWidth bits)

  /** Cycle 1 of a visit: entry and progress of the tag are read. `changes` says that an earlier
    * visit to this tag writes its progress in this cycle, so the progress read here is out of date.
    */
  val lookup = new Area {
    val tag     = io.visit.header.tag.resize(p.tagWidth bits)
    val known   = if (p.tagWidth == 8) True else !io.visit.header.tag.drop(p.tagWidth).orR
    val entry   = entries.readAsync(tag)
    val read    = progress.readAsync(tag)
    val changes = decided.valid && decides === tag
  }

  /** Cycle 2 of a visit: the state of the read that has the tag is computed. */
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

    // Negative if a completion's payload is longer than what its read still waits for.
    val rest    = left.resize(12 bits) - header.dwords
    val bytes   = header.byteCount +^ (skip +^ entry.trail)
    val from    = entry.addressEnd - left
    val landing = entry.landingEnd - left
  }

  /** Cycle 3 of a visit: decides whether the completion is what the tag's read waits for, and how
    * the read's progress changes.
    */
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
      prepare.header.code === RcDescriptor.Reset ||
        prepare.header.code === RcDescriptor.Timeout
    )
    val foreign = RegNext(prepare.header.code === RcDescriptor.InvalidTag)
    val misfit  = RegNext(ReadTable.misfit(prepare.header))
    val data    = RegNext(ReadTable.data(prepare.header))

    val header = visit.header
    val place =
      bytes === (left @@ U(0, 2 bits)).resized && header.address === (from.resize(5 bits) @@ skip)
    val fits = !rest.msb && !empty && whole === header.done && place

    // `stray` says that the completion answers an earlier read that had this tag. If the hard block
    // reports a misfit, the header's `done` says whether the read that has the tag now has ended
    // with the completion. If the hard block found nothing wrong, `done` is about the earlier read.
    val stray     = misfit && !header.done || data && !place && !broken
    val completes = !visit.probe && !foreign
    val answers   = completes && waiting && !stray
    val ends      = header.done || reports
    // The payload of a poisoned completion lands, too.
    val lands = answers && fits && !reports &&
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

  val verdict = Flow(Verdict(p))
  verdict.valid      := decide.valid
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
  io.verdict << verdict.m2sPipe()

  val space = Flow(SpaceReturn())
  space.valid  := decide.valid && (decide.free || decide.lands)
  space.all    := decide.free
  space.from   := decide.from
  space.to     := decide.from + decide.header.dwords.resized
  space.end    := decide.entry.addressEnd
  space.rcb128 := decide.entry.rcb128
  io.space << space.m2sPipe()
}

object ReadTable {

  /** Returns whether the hard block's error code says that the completion's byte count or lower
    * address is not what the tag's read waits for.
    */
  def misfit(header: RcDescriptor): Bool =
    header.code === RcDescriptor.ByteCount || header.code === RcDescriptor.LowerAddress

  /** Returns whether the completion is successful and the hard block found nothing wrong with it,
    * except perhaps that it is poisoned.
    */
  def data(header: RcDescriptor): Bool =
    header.status === CompletionStatus.Success &&
      (header.code === RcDescriptor.Normal || header.code === RcDescriptor.Poisoned)

  /** Returns the error that the completion's descriptor reports, or `none`. */
  def reason(header: RcDescriptor): ReadError.C = {
    val error = ReadError()
    error := ReadError.malformed
    switch(header.code) {
      is(RcDescriptor.Normal)(error   := ReadError.none)
      is(RcDescriptor.Poisoned)(error := ReadError.poisoned)
      is(RcDescriptor.Status)(error   := ReadError.unsupported)
    }
    when(header.poisoned && header.code === RcDescriptor.Normal) { error := ReadError.poisoned }
    when(header.status =/= CompletionStatus.Success) { error := ReadError.unsupported }
    when(header.status === CompletionStatus.Abort) { error := ReadError.aborted }
    // With the codes Reset and Timeout the status is not valid, so these codes override it.
    when(header.code === RcDescriptor.Reset) { error := ReadError.cut }
    when(header.code === RcDescriptor.Timeout) { error := ReadError.timeout }
    error
  }

  /** The completions of an outstanding read are checked against its entry, which also says where
    * they land. The entry is written once, when the read is issued.
    */
  case class Entry(p: ReturnParam) extends Bundle {
    val generation = Bool()                      // Toggles with every read that has the tag.
    val client     = UInt(p.clientWidth bits)
    val order      = UInt(p.orderWidth + 1 bits) // The read's number among those of its client.
    // Ring position behind the read's last dword, in dwords.
    val landingEnd = UInt(p.dwordWidth bits)
    val addressEnd = UInt(8 bits) // Low 8 bits of the dword address behind the read's end.
    val dwords     = UInt(8 bits)
    val skip       = UInt(2 bits) // Bytes of the read's first dword that are not asked for.
    val trail      = UInt(2 bits) // Bytes of the read's last dword that are not asked for.
    val rcb128     = Bool()
    val stamp      = UInt(7 bits) // ReadClock's tick when the read was issued.
  }

  /** The place in the landing memory at which a completion's first dword is written. */
  case class Landing(p: ReturnParam) extends Bundle {
    val client = UInt(p.clientWidth bits)
    val dword  = UInt(p.dwordWidth bits) // Position in the client's ring, in dwords.
  }

  /** The decision of ReadTable about a completion or a probe, one cycle after `landing`. */
  case class Verdict(p: ReturnParam) extends Bundle {
    val probe      = Bool()
    val tag        = UInt(p.tagWidth bits)
    val generation = Bool()
    val client     = UInt(p.clientWidth bits)
    val order      = UInt(p.orderWidth + 1 bits)
    val lands      = Bool()       // The payload is written to the landing memory.
    val dwords     = UInt(8 bits) // Dwords of the completion's payload, if it lands.
    // Position in the client's ring, in dwords, at which the payload is written.
    val dword   = UInt(p.dwordWidth bits)
    val waited  = Bool() // Until this visit the read waited for completions.
    val error   = ReadError()
    val finish  = Bool() // The read ends with this visit to ReadTable.
    val free    = Bool() // The tag of the read becomes free with this visit.
    val suspect = Bool() // Valid with `free`: the tag's read had timed out.
    // The kinds of completions that no read waits for. Only the statistics counters use them.
    val unexpected, late, duplicate = Bool()
  }

  /** Gives back completion space of a read: that for the dwords from `from` up to `to`, or, if
    * `all` is set, up to `end`, the end of the read. All three are the eight lowest bits of dword
    * addresses.
    */
  case class SpaceReturn() extends Bundle {
    val all      = Bool()
    val from, to = UInt(8 bits)
    val end      = UInt(8 bits)
    val rcb128   = Bool()
  }
}
