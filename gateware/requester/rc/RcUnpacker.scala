// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rc

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.HardBlock

/** Splits RC beats into steps of one completion each. It works with and without the hard block's
  * straddle option (two completions in one beat): the pins of each beat say where completions begin
  * and end.
  *
  * A beat takes one step, even if one completion ends and the next begins in it. It takes two steps
  * if it holds two descriptors or two endings, or if the landing memory needs a cycle of its own to
  * write the last dwords of the completion that ends. Completions of one dword, of no dwords and of
  * 8n + 1 dwords cause that. Tiny completions of the same tag in a row take one cycle more each.
  * RcBacklog has room for all completions of outstanding reads, so RC is never held off.
  */
case class RcUnpacker(tagWidth: Int) extends Component {
  import RcUnpacker._
  require(tagWidth <= 8, s"tags of $tagWidth bits: a completion's descriptor has 8 bits for a tag")
  val io = new Bundle {
    val rc    = slave(HardBlock.Rc())
    val probe = slave(Stream(UInt(tagWidth bits)))
    val step  = master(Flow(Step())) // Comes in the same cycle as the completion's `visit`.
    val visit = master(Flow(TagVisit()))
  }

  /** An RC beat, with marks where completions begin and end. The marks are the same with and
    * without straddle.
    */
  case class Framed() extends Bundle {
    val data  = Bits(HardBlock.DataWidth bits)
    val start = Vec(Bool(), 2)
    val end   = Vec(HardBlock.EndOfFrame(), 2)
    // In this beat a completion ends and the next begins, and one step is enough for both. joins(0)
    // says so if the completion that ends began at lane 0, joins(1) if it began at lane 4.
    val joins = Vec(Bool(), 2)
    val cut   = Bool()
  }

  val framing = Framed()
  framing.data  := io.rc.data
  framing.start := io.rc.start
  framing.end   := io.rc.end
  // `last` is never set with straddle, so it marks a completion's end only without straddle.
  when(io.rc.last) {
    framing.end(0).valid := True
    framing.end(0).dword := OHToUInt(OHMasking.last(io.rc.keep))
  }
  for ((joins, high) <- framing.joins.zip(Seq(false, true)))
    joins := framing.start(0) && !framing.end(1).valid &&
      !Step.leavesRest(Bool(high), framing.end(0).dword)
  framing.cut := io.rc.discontinue

  val backlog = RcBacklog(Framed())
  backlog.io.push << io.rc.translateWith(framing)
  val beat = backlog.io.pop

  // Which completions the beat holds --------------------------------------------------------------
  // A completion of the beat before goes on in this beat.
  val midTlp  = RegInit(False)
  val midHigh = Reg(Bool())    // The completion that goes on began at lane 4.
  val second  = RegInit(False) // The first completion in this beat is done.

  val two = beat.start(0) && (midTlp || beat.start(1))

  val step = Step()
  step.data  := beat.data
  step.first := !midTlp
  step.high  := midTlp && midHigh
  step.last  := beat.end(0).valid || two
  step.lane  := beat.end(0).dword
  step.cut   := beat.cut
  step.head  := !second && midTlp && (midHigh ? beat.joins(1) | beat.joins(0))
  when(second) {
    step.first := True
    step.high  := True
    step.last  := beat.end(1).valid
    step.lane  := beat.end(1).dword
  }

  val exists = midTlp || second || beat.start(0)
  val low    = RcDescriptor(beat.data(0, 96 bits))
  val high   = RcDescriptor(beat.data(128, 96 bits))
  val isHigh = second || step.head

  // Registers of the step, since the path back to the backlog's FIFO is long ---------------------
  val moves = Bool()
  val next = new Area {
    val valid  = RegNextWhen(beat.valid && exists, moves) init False
    val step   = RegNextWhen(RcUnpacker.this.step, moves)
    val header = RegNextWhen(isHigh ? high | low, moves)
    val begins = RegNextWhen(RcUnpacker.this.step.first || RcUnpacker.this.step.head, moves)
    val rest   = step.last && !step.head // After this step no completion is half unpacked.
  }
  // A beat with parts of two completions is taken with the second step.
  beat.ready := moves && (second || !two || step.head)
  when(beat.valid && moves) {
    midTlp                                := exists && (!step.last || step.head)
    second                                := exists && !second && two && !step.head
    when(step.first || step.head)(midHigh := step.high || step.head)
  }

  // ReadTable needs a cycle between two visits to the same tag. If a completion follows directly on
  // another one with the same tag, the later completion waits for a cycle. If a completion follows
  // directly on a probe of its tag, the probe is dropped, since ReadClock probes that tag again.
  val visited    = RegInit(False)
  val isProbe    = RegInit(False)
  val again      = Reg(Bool()) // The next step has the tag of the latest visit.
  val visitedTag = Reg(UInt(8 bits))
  // Cycles that the probe of a tag has waited. After 7 cycles the probe goes before the steps.
  val waited = Reg(UInt(3 bits)) init 0
  val urgent = RegNext(waited === waited.maxValue) init False
  val probed = io.probe.payload.resize(8 bits)

  val close = next.begins && again
  val hold  = visited && !isProbe && close || urgent && (next.begins || next.step.last)
  val takes = next.valid && !hold
  moves := !next.valid || !hold

  // A tag is not probed while a completion with that tag arrives. If the probe found a timeout, the
  // ring space in which the completion is being written would be given to another read.
  val arrives    = RegInit(False)
  val arrivesTag = Reg(UInt(8 bits))
  when(takes) {
    arrives                      := !next.rest
    when(next.begins)(arrivesTag := next.header.tag)
  }
  // A probe could also use the cycle that `hold` inserts between two visits to one tag. It does not
  // do so, because `hold` is known late in the cycle and the path into `turn` must be short.
  val busy   = next.valid && (next.begins || next.step.last)
  val turn   = !busy || urgent
  val barred = arrives && arrivesTag === probed || visited && visitedTag === probed
  // No stream operator fits: a probe only uses a visit in place of a step.
  io.probe.ready := turn
  val probes = io.probe.fire && !barred
  waited := (io.probe.valid && !turn) ? (waited +| 1) | U(0)

  val visit = TagVisit()
  visit.header := next.header
  visit.probe  := probes
  when(turn) { visit.header.tag := probed }
  visited    := probes || takes && next.begins
  isProbe    := probes
  visitedTag := visit.header.tag

  // `again` compares tags while the next step is loaded. If the next step is held instead, the only
  // visit that can come before it is a probe.
  val follows = isHigh ? (visit.header.tag === high.tag) | (visit.header.tag === low.tag)
  again := moves ? follows | (probed === next.header.tag)

  val taken = Flow(Step())
  taken.valid   := takes
  taken.payload := next.step
  io.step << taken.m2sPipe()
  io.visit.valid   := visited && !(isProbe && next.valid && close)
  io.visit.payload := RegNext(visit)
}

object RcUnpacker {

  /** One step of the landing pipeline: the part of an RC beat that belongs to one completion.
    *
    * If `head` is set, lanes 4 to 7 of the same beat hold the descriptor and the first dword of the
    * next completion. If a completion begins and ends in the same step, `head` is not set.
    */
  case class Step() extends Bundle {
    val data  = Bits(HardBlock.DataWidth bits)
    val first = Bool()
    val high  = Bool()       // The completion began at lane 4, in this step or an earlier one.
    val last  = Bool()
    val lane  = UInt(3 bits) // The lane in which the completion ends.
    val head  = Bool()
    val cut   = Bool()       // The hard block ended the completion early ("discontinue").

    def leavesRest: Bool = last && Step.leavesRest(high, lane)
  }

  object Step {

    /** Returns whether the last step of a completion leaves dwords over that do not fit into the
      * row which the step writes. Writing them takes another cycle. The completion ends in `lane`,
      * and `high` says that it began at lane 4.
      */
    def leavesRest(high: Bool, lane: UInt): Bool =
      Mux(high, lane === 7, lane >= RcDescriptor.Dwords)
  }

  /** An access to ReadTable: for a completion, or to find out whether a read has timed out. */
  case class TagVisit() extends Bundle {
    val header = RcDescriptor()
    val probe  = Bool() // The visit is a probe for a timeout: only header.tag is valid.
  }
}
