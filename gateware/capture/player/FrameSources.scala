// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.player

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.Frames

/** Joins the frames of several sources into one stream, whole frame by whole frame, in the order of
  * their times.
  *
  * {{{
  *   begun  ---> compared, in pairs ---> first ---+
  *                                                v
  *   inputs ----------------------------------> choice ---> output
  * }}}
  *
  * `begun` has the time of a source's first frame that has begun and has not left, also while that
  * frame is not whole. A frame must be in `begun` one or two cycles after the cycle that its time
  * names, and before it is offered. A source offers a frame when all of it is there. From then on
  * it has a beat in each cycle.
  *
  * The frame that began first goes first. While it is not whole, frames that began later wait for
  * it, but for no more than `patience` cycles. After that they go ahead of it until it is whole, so
  * a source that stands still inside a frame costs the others `patience` cycles, once. Of frames
  * with the same time, the one whose source has waited longer goes first.
  *
  * So the times in `begun` never run backwards at the output, except for a frame that others had
  * waited for in vain, and where the clock is set back.
  *
  * A source that is alone sends a beat in every cycle. If more sources have frames, one cycle
  * between two frames is needed to compare their times.
  */
case class FrameSources(sources: Int, patience: Int = FrameSources.Patience) extends Component {
  require(sources >= 2, s"$sources sources of frames: one needs nothing to join it")
  require(patience >= 2, s"a patience of $patience cycles: it must be 2 or more")
  val io = new Bundle {
    val inputs = Vec(slave(Frames()), sources)
    val begun  = Vec(slave(Flow(UInt(64 bits))), sources)
    val output = master(Frames())
  }
  val every  = 0 until sources
  val others = every.map(i => every.filter(_ != i))
  val whole  = every.map(io.inputs(_).valid)

  val joined  = Frames()
  val begins  = RegInit(True) // The next beat is the first of a frame.
  val ends    = joined.fire && joined.last
  val current = Reg(Bits(sources bits))
  // The others waited for this source's frame in vain, and the frame is still not whole.
  val late   = Vec.fill(sources)(RegInit(False))
  val stands = every.map(i => io.begun(i).valid && (whole(i) || !late(i)))

  /** Tells which source had the earliest frame a cycle ago.
    *
    * A frame that was not in `begun` a cycle ago is not earlier than those that were.
    */
  val order = new Area {
    val stood = stands.map(RegNext(_) init False)
    val pairs = for (i <- every; j <- i + 1 until sources) yield FrameSources.Pair(io.begun, i, j)
    def isAhead(i: Int, j: Int): Bool =
      if (i > j) !isAhead(j, i) else pairs.find(pair => pair.i == i && pair.j == j).get.ahead
    // What was compared while the last beat of a frame left is about that frame.
    val settled = !(RegNext(ends) init False)
    val first = every.map { i =>
      settled && stood(i) && others(i).map(j => !stood(j) || isAhead(i, j)).andR
    }
  }

  val choice = Vec(every.map { i =>
    val alone = !others(i).map(stands(_)).orR
    whole(i) && (alone || order.first(i))
  }).asBits
  val chosen = begins ? choice | current

  // StreamArbiter is not used, since it has no place for a decision of the cycle before.
  joined.valid   := (chosen & whole.asBits).orR
  joined.payload := MuxOH(chosen, every.map(io.inputs(_).payload))
  for (i <- every) io.inputs(i).ready := chosen(i) && joined.ready
  when(joined.fire) { begins := joined.last }
  when(begins) { current := choice }
  for (pair <- order.pairs) {
    val isOfPair = chosen(pair.i) || chosen(pair.j)
    when(begins && joined.fire && isOfPair) { pair.turn := chosen(pair.i) }
  }
  io.output << joined.m2sPipe()

  val waiting = new Area {
    val count = Reg(UInt(log2Up(patience) bits)) init 0
    val isFor = every.map(i => order.first(i) && !whole(i) && others(i).map(whole(_)).orR)
    val goes  = begins && isFor.orR
    val over  = goes && count === patience - 1
    count := count + 1
    when(!goes) { count := 0 }
    for (i <- every) {
      when(over && isFor(i)) { late(i) := True }
      when(whole(i) || !io.begun(i).valid) { late(i) := False }
    }
  }
}

object FrameSources {

  /** Sizes of the store of a source that does not know its frames beforehand: FrameCopy and
    * SlotFrames.
    */
  val StoreBeats  = 512
  val StoreFrames = 32

  /** Cycles that a frame which has begun may hold up frames of other sources: as many as a store
    * needs for its longest frame at a beat a cycle.
    */
  val Patience = StoreBeats

  /** Tells which of the sources i and j had the earlier frame a cycle ago, if both had one. */
  case class Pair(begun: Vec[Flow[UInt]], i: Int, j: Int) extends Area {
    // At equal times source j goes first, as source i had its turn after source j.
    val turn  = RegInit(False)
    val ahead = RegNext((begun(i).payload @@ turn) < (begun(j).payload @@ !turn))
  }

  /** Returns `begun` of a source that gives a frame its time when it offers the frame. */
  def begunWhenOffered(frames: Stream[Fragment[Frames.Beat]]): Flow[UInt] = {
    val begun = Flow(UInt(64 bits))
    begun.valid   := frames.valid
    begun.payload := frames.head.time
    begun
  }
}
