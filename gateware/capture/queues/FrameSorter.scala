// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.queues

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.Frames

/** Decides for each frame by rules and hash: whether it is discarded, how much of it is kept, and
  * which queue it belongs to.
  *
  * {{{
  *   frames ---+--- store, 32 beats ---------------------------------+---> sorted
  *             |                                                     |
  *             +--- FrameHeaders ---> FrameParser ---+-> RuleTable --+ verdicts
  *                                                   +-> Spread -----+
  * }}}
  *
  * A frame waits in the store until its verdict is there. All frames leave whole and in order. A
  * later stage drops and counts the frames that are to be discarded. If a rule cuts a frame, `kept`
  * becomes lower and the beats stay. A later stage drops the beats that are too many.
  */
case class FrameSorter(units: Int = 4, key: BigInt = Toeplitz.Symmetric) extends Component {
  val io = new Bundle {
    val count  = in UInt (RuleTable.CountWidth bits)
    val byPort = in Bool ()
    val rule   = slave(Flow(RuleTable.Write()))
    val spread = slave(Flow(Spread.Write()))
    val frames = slave(Frames())
    val sorted = master(Frames())
    // The verdict about the frame whose beat `sorted` offers.
    val verdict = out(FrameSorter.Verdict())
    // A pulse with the last beat of each frame that leaves. `verdict` is about that frame then.
    val leaves = out Bool ()
    val busy   = out Bool ()
  }
  noIoPrefix()
  import FrameSorter._

  val headers = FrameHeaders()
  val parser  = FrameParser()
  val rules   = RuleTable(units)
  val spread  = Spread(key)
  val beats   = StreamFifo(Fragment(Frames.Beat()), StoreBeats, latency = 1)
  val results = StreamFifo(Verdict(), StoreBeats, latency = 1)
  for (fifo <- Seq(beats.logic.ram, results.logic.ram))
    fifo.addAttribute("ram_style", "distributed")

  val room  = RegNext(beats.io.availability > 1) init False
  val takes = room && headers.io.ready
  val come  = io.frames.continueWhen(takes).toFlow
  headers.io.beat << come
  beats.io.push << come.toStream
  parser.io.headers << headers.io.headers
  headers.io.soon  := parser.io.soon
  headers.io.place := parser.io.place
  parser.io.word   := headers.io.word
  parser.io.flags  := headers.io.flags

  // The parser goes on with the next frame while the rules are compared with the frame before.
  val parsed = parser.io.key.m2sPipe()
  rules.io.count := io.count
  rules.io.write << io.rule
  rules.io.key << parsed
  spread.io.byPort := io.byPort
  spread.io.write << io.spread
  spread.io.key := parsed.payload

  /** Joins the results of RuleTable and Spread. Spread takes a key in the cycle of its last row of
    * rules, and RuleTable needs three cycles from there, as Spread does. So both results come in
    * the same cycle.
    */
  val judge = new Area {
    val result  = rules.io.result
    val verdict = Verdict()
    verdict.rule    := result.rule
    verdict.matched := result.matched
    verdict.discard := result.action.discard
    verdict.snap    := result.action.snap
    verdict.queue   := result.action.hasQueue ? result.action.queue | spread.io.queue
    verdict.hash    := spread.io.hash
    results.io.push << result.translateWith(verdict).toStream
  }

  val leave = new Area {
    val first   = RegNextWhen(beats.io.pop.last, beats.io.pop.fire) init True
    val verdict = results.io.pop.payload
    val cut     = verdict.snap =/= 0 && verdict.snap < beats.io.pop.head.kept
    val frame   = beats.io.pop.haltWhen(!results.io.pop.valid)
    io.sorted << frame
    when(cut) { io.sorted.head.kept := verdict.snap }
    // No stream operator fits: a verdict leaves with the last beat of its frame.
    results.io.pop.ready := frame.fire && frame.last
    io.verdict           := verdict
    io.leaves            := results.io.pop.ready
  }
  val works = RegNext(beats.io.occupancy =/= 0 || io.frames.valid) init False
  io.busy := works
}

object FrameSorter {

  /** The most beats that wait for a verdict: those of all frames in FrameHeaders, FrameParser and
    * RuleTable.
    */
  val StoreBeats = 32

  /** The decision about a frame: whether it is discarded, how much of it is kept, and its queue. */
  case class Verdict() extends Bundle {
    val discard = Bool()
    val snap    = UInt(Frames.LengthWidth bits)      // Bytes to keep of the frame; 0: no change.
    val queue   = UInt(Spread.QueueWidth bits)
    val hash    = Bits(Toeplitz.HashBits bits)
    val matched = Bool()
    val rule    = UInt(log2Up(RuleTable.Rules) bits) // The first rule that the frame matched.
  }
}
