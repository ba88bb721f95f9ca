// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** One step of the landing pipeline: what a beat holds of one completion.
  *
  * With `head` the beat also holds the beginning of the next: descriptor and first dword, in lanes
  * 4 to 7. A completion never begins and ends in a step that has a head as well.
  */
case class RcStep() extends Bundle {
  val data  = Bits(HardBlock.DataWidth bits)
  val first = Bool()       // The completion begins here,
  val high  = Bool()       // at lane 4, here or where it did,
  val last  = Bool()       // and ends here,
  val lane  = UInt(3 bits) // in this lane.
  val head  = Bool()
  val cut   = Bool()       // The block discontinued it.

  def leavesRest: Bool = last && RcStep.leavesRest(high, lane)
}

object RcStep {

  /** Dwords stay behind for another cycle: more came than one row of lanes takes. */
  def leavesRest(high: Bool, lane: UInt): Bool =
    Mux(high, lane === 7, lane >= CompletionHeader.Dwords)
}

/** What goes through the table of reads beside a step: a descriptor, or a look at a tag's age. */
case class TagVisit() extends Bundle {
  val header = CompletionHeader()
  val probe  = Bool() // Only header.tag is valid.
}

/** RC beats to steps of one completion each, with straddle or without: the pins tell which.
  *
  * A beat is one step, also when one completion ends and the next begins in it. It is two where two
  * descriptors or two endings meet, or where the rest of the first needs the cycle: that takes a
  * completion of one dword or none, or one of 8n + 1. Another cycle goes to tiny completions of one
  * tag in a row. The backlog has room for all that may be outstanding meanwhile, so that RC is
  * never held off.
  */
case class RcUnpacker(tagWidth: Int) extends Component {
  val io = new Bundle {
    val rc    = slave(HardBlock.Rc())
    val probe = slave(Stream(UInt(tagWidth bits)))
    val step  = master(Flow(RcStep())) // step and visit of one beat come together.
    val visit = master(Flow(TagVisit()))
  }

  /** A beat with its framing made the same for both of the block's options. */
  case class Framed() extends Bundle {
    val data  = Bits(HardBlock.DataWidth bits)
    val start = Vec(Bool(), 2)
    val end   = Vec(EndOfFrame(), 2)
    val joins = Vec(Bool(), 2) // One step is enough, if what goes on had begun at lane 0, or at 4.
    val cut   = Bool()
  }

  val framed = io.rc.translateWith {
    val beat = Framed()
    beat.data  := io.rc.data
    beat.start := io.rc.start
    beat.end   := io.rc.end
    when(io.rc.last) { // Never with straddle.
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

  // What the beat is ------------------------------------------------------------------------------
  val inside     = RegInit(False) // A completion goes on from the beat before,
  val insideHigh = Reg(Bool())    // which had begun at lane 4.
  val second     = RegInit(False) // Of this beat the first completion has been seen to.

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

  // When it goes on: behind a register, since the way back to the FIFO is long. -------------------
  val moves = Bool()
  val next = new Area {
    val valid  = RegNextWhen(beat.valid && exists, moves) init False
    val step   = RegNextWhen(RcUnpacker.this.step, moves)
    val header = RegNextWhen(isHigh ? high | low, moves)
    val begins = RegNextWhen(RcUnpacker.this.step.first || RcUnpacker.this.step.head, moves)
    val rest   = step.last && !step.head // Nothing goes on into the next beat.
  }
  beat.ready := moves && (second || !two || step.head)
  when(beat.valid && moves) {
    inside                                   := exists && (!step.last || step.head)
    second                                   := exists && !second && two && !step.head
    when(step.first || step.head)(insideHigh := step.high || step.head)
  }

  // The table needs a cycle between two visits to the same tag. A completion waits for that cycle
  // behind another completion. A probe in front of it is given up instead: the walk comes again.
  val visited    = RegInit(False)
  val isProbe    = RegInit(False)           // What is visited.
  val again      = Reg(Bool())              // What is next has the tag that is visited.
  val visitedTag = Reg(UInt(8 bits))
  val waited     = Reg(UInt(3 bits)) init 0 // Probes pass in between, at the latest after these.
  val urgent     = RegNext(waited === waited.maxValue) init False
  val probed     = io.probe.payload.resize(8 bits)

  val close = next.begins && again
  val hold  = visited && !isProbe && close || urgent && (next.begins || next.step.last)
  val takes = next.valid && !hold
  moves := !next.valid || !hold

  // Not while a completion under this tag arrives: it would land in space that is given back.
  val arrives    = RegInit(False)
  val arrivesTag = Reg(UInt(8 bits))
  when(takes) {
    arrives                      := !next.rest
    when(next.begins)(arrivesTag := next.header.tag)
  }
  // Nor in the cycle for one tag in a row, although that is free: the way to `turn` is short.
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

  // Compared while the next one is loaded; one that is held can only have a probe before it.
  val follows = isHigh ? (visit.header.tag === high.tag) | (visit.header.tag === low.tag)
  again := moves ? follows | (probed === next.header.tag)

  io.step.valid    := RegNext(takes) init False
  io.step.payload  := RegNext(next.step)
  io.visit.valid   := visited && !(isProbe && next.valid && close)
  io.visit.payload := RegNext(visit)
}
