// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** One step of the landing pipeline: the part of a beat that belongs to one completion.
  *
  * With `head` the beat also holds the beginning of the next completion: descriptor and first
  * dword, in lanes 4 to 7. A completion that begins and ends in the same step never has a head
  * behind it.
  */
case class RcStep() extends Bundle {
  val data  = Bits(HardBlock.DataWidth bits)
  val first = Bool()       // The completion begins in this step.
  val high  = Bool()       // The completion began at lane 4, in this step or an earlier one.
  val last  = Bool()       // The completion ends in this step.
  val lane  = UInt(3 bits) // The lane in which the completion ends.
  val head  = Bool()
  val cut   = Bool()       // The block cut the completion short.

  def leavesRest: Bool = last && RcStep.leavesRest(high, lane)
}

object RcStep {

  /** More dwords came than fit into the row that is written: the rest takes another cycle. */
  def leavesRest(high: Bool, lane: UInt): Bool =
    Mux(high, lane === 7, lane >= CompletionHeader.Dwords)
}

/** A visit to the table of reads: the descriptor of a completion, or a probe of a tag's age. */
case class TagVisit() extends Bundle {
  val header = CompletionHeader()
  val probe  = Bool() // A probe: only header.tag is valid.
}

/** Splits RC beats into steps of one completion each. The pins tell whether there is straddle.
  *
  * A beat takes one step, even if one completion ends and the next begins in it. It takes two steps
  * if it holds two descriptors or two endings, or if held dwords of the first completion need the
  * cycle to be written. Completions of one dword, of none and of 8n + 1 dwords cause that. Tiny
  * completions of the same tag in a row take one cycle more. The backlog has room for all that may
  * be outstanding meanwhile, so RC is never held off.
  */
case class RcUnpacker(tagWidth: Int) extends Component {
  val io = new Bundle {
    val rc    = slave(HardBlock.Rc())
    val probe = slave(Stream(UInt(tagWidth bits)))
    val step  = master(Flow(RcStep())) // The step and the visit of a beat come together.
    val visit = master(Flow(TagVisit()))
  }

  /** A beat whose framing looks the same with straddle and without. */
  case class Framed() extends Bundle {
    val data  = Bits(HardBlock.DataWidth bits)
    val start = Vec(Bool(), 2)
    val end   = Vec(EndOfFrame(), 2)
    // One step is enough for the end of one completion and the start of the next: joins(0) if the
    // one that ends began at lane 0, joins(1) if it began at lane 4.
    val joins = Vec(Bool(), 2)
    val cut   = Bool()
  }

  val framed = io.rc.translateWith {
    val beat = Framed()
    beat.data  := io.rc.data
    beat.start := io.rc.start
    beat.end   := io.rc.end
    when(io.rc.last) { // With straddle `last` is never set.
      beat.end(0).valid := True
      beat.end(0).dword := OHToUInt(OHMasking.last(io.rc.keep))
    }
    for ((joins, high) <- beat.joins.zip(Seq(false, true)))
      joins := beat.start(0) && !beat.end(1).valid &&
        !RcStep.leavesRest(Bool(high), beat.end(0).dword)
    beat.cut := io.rc.discontinue
    beat
  }
  val backlog = RcBacklog(Framed())
  backlog.io.push << framed
  val beat = backlog.io.pop

  // What the beat holds ---------------------------------------------------------------------------
  // A completion of the beat before goes on.
  val inside     = RegInit(False)
  val insideHigh = Reg(Bool())    // That completion began at lane 4.
  val second     = RegInit(False) // The first completion of this beat is done.

  val two = beat.start(0) && (inside || beat.start(1))

  val step = RcStep()
  step.data  := beat.data
  step.first := !inside
  step.high  := inside && insideHigh
  step.last  := beat.end(0).valid || two
  step.lane  := beat.end(0).dword
  step.cut   := beat.cut
  step.head  := !second && inside && (insideHigh ? beat.joins(1) | beat.joins(0))
  when(second) {
    step.first := True
    step.high  := True
    step.last  := beat.end(1).valid
    step.lane  := beat.end(1).dword
  }

  val exists = inside || second || beat.start(0)
  val low    = CompletionHeader(beat.data(0, 96 bits))
  val high   = CompletionHeader(beat.data(128, 96 bits))
  val isHigh = second || step.head

  // When the beat moves on: behind a register, since the path back to the FIFO is long ------------
  val moves = Bool()
  val next = new Area {
    val valid  = RegNextWhen(beat.valid && exists, moves) init False
    val step   = RegNextWhen(RcUnpacker.this.step, moves)
    val header = RegNextWhen(isHigh ? high | low, moves)
    val begins = RegNextWhen(RcUnpacker.this.step.first || RcUnpacker.this.step.head, moves)
    val rest   = step.last && !step.head // No completion goes on into the next beat.
  }
  beat.ready := moves && (second || !two || step.head)
  when(beat.valid && moves) {
    inside                                   := exists && (!step.last || step.head)
    second                                   := exists && !second && two && !step.head
    when(step.first || step.head)(insideHigh := step.high || step.head)
  }

  // The table needs a cycle between two visits to the same tag. A completion that follows another
  // one of its tag waits for that cycle. A probe in front of it is dropped instead: ReadClock comes
  // round to the tag again.
  val visited    = RegInit(False)
  val isProbe    = RegInit(False)           // The visit is a probe.
  val again      = Reg(Bool())              // The next step has the visited tag.
  val visitedTag = Reg(UInt(8 bits))
  val waited     = Reg(UInt(3 bits)) init 0 // Cycles of a probe; at the most it goes first.
  val urgent     = RegNext(waited === waited.maxValue) init False
  val probed     = io.probe.payload.resize(8 bits)

  val close = next.begins && again
  val hold  = visited && !isProbe && close || urgent && (next.begins || next.step.last)
  val takes = next.valid && !hold
  moves := !next.valid || !hold

  // No probe while a completion of the same tag arrives: a timeout found now would give back the
  // space in which the completion lands.
  val arrives    = RegInit(False)
  val arrivesTag = Reg(UInt(8 bits))
  when(takes) {
    arrives                      := !next.rest
    when(next.begins)(arrivesTag := next.header.tag)
  }
  // A probe could also go while `hold` inserts a cycle between two visits of one tag. It does not:
  // `hold` is late, and the path into `turn` must be short.
  val busy   = next.valid && (next.begins || next.step.last)
  val turn   = !busy || urgent
  val barred = arrives && arrivesTag === probed || visited && visitedTag === probed
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

  // Compared while the next step is loaded. If the step is held instead, only a probe can come
  // between.
  val follows = isHigh ? (visit.header.tag === high.tag) | (visit.header.tag === low.tag)
  again := moves ? follows | (probed === next.header.tag)

  io.step.valid    := RegNext(takes) init False
  io.step.payload  := RegNext(next.step)
  io.visit.valid   := visited && !(isProbe && next.valid && close)
  io.visit.payload := RegNext(visit)
}
