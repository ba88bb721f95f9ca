// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.queues

import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.capture.{FrameDriver, TestFrame}
import lanebox.vocabulary.{LaneboxSim, Seed}

/** Tests FrameSorter: each frame leaves whole and in order, with the verdict of the first rule that
  * it matches, and with the queue that rule or hash choose.
  */
class FrameSorterTest extends AnyFunSuite {
  lazy val compiled = LaneboxSim(FrameSorter())

  /** Drives a FrameSorter: writes its rules and its spread table (from a frame's hash to its
    * queue), offers frames and takes them. `pauses` is the probability of a pause in a cycle, at
    * the input and at the output.
    */
  class Bench(dut: FrameSorter, r: Random, pauses: Double) {
    var rules   = Seq[RuleModel]()
    var spread  = IndexedSeq.fill(Spread.Entries)(0)
    var byPort  = false
    var taken   = 0
    val waiting = mutable.Queue[TestFrame]()
    val source  = mutable.Queue[TestFrame]()
    val data    = mutable.ArrayBuffer[Byte]()
    val matched = mutable.Map[Int, Int]().withDefaultValue(0)
    val queues  = mutable.Map[Int, Int]().withDefaultValue(0)
    val driver  = new FrameDriver(dut.io.frames, r)(Option.when(source.nonEmpty)(source.dequeue()))
    driver.pauses = pauses
    driver.begun = frame => waiting += frame
    // The head of the frame that is leaving, from its first beat.
    private var head = (BigInt(0), 0, 0, 0)

    def reset(): Unit = {
      dut.io.count #= 0
      dut.io.byPort #= false
      for (flow <- Seq(dut.io.rule, dut.io.spread)) flow.valid #= false
      dut.io.frames.valid #= false
      dut.io.sorted.ready #= false
      dut.clockDomain.forkStimulus(10)
      dut.clockDomain.waitSampling(10)
    }

    def set(): Unit = {
      for ((rule, i) <- rules.zipWithIndex; (word, at) <- rule.words.zipWithIndex) {
        dut.io.rule.valid #= true
        dut.io.rule.rule #= i
        dut.io.rule.word #= at
        dut.io.rule.data #= word
        dut.clockDomain.waitSampling()
      }
      dut.io.rule.valid #= false
      for ((queue, entry) <- spread.zipWithIndex) {
        dut.io.spread.valid #= true
        dut.io.spread.entry #= entry
        dut.io.spread.queue #= queue
        dut.clockDomain.waitSampling()
      }
      dut.io.spread.valid #= false
      dut.io.count #= rules.size
      dut.io.byPort #= byPort
      dut.clockDomain.waitSampling(3)
    }

    def cycle(): Unit = {
      dut.clockDomain.waitSampling()
      val sorted = dut.io.sorted
      if (sorted.valid.toBoolean && sorted.ready.toBoolean) {
        if (data.isEmpty)
          head = (
            sorted.head.time.toBigInt,
            sorted.head.port.toInt,
            sorted.head.original.toInt,
            sorted.head.kept.toInt
          )
        data ++= TestFrame.bytes(sorted.data.toBigInt)
        assert(dut.io.leaves.toBoolean == sorted.last.toBoolean)
        if (sorted.last.toBoolean) check(waiting.dequeue())
      }
      driver.cycle()
      sorted.ready #= r.nextDouble() >= pauses
    }

    private def check(frame: TestFrame): Unit = {
      val flow    = FlowModel(frame.data, frame.port, frame.original)
      val number  = rules.indexWhere(_.matches(flow))
      val rule    = if (number < 0) RuleModel(on = false) else rules(number)
      val hash    = flow.hash(Toeplitz.Symmetric)
      val entry   = if (byPort) frame.port else (hash % Spread.Entries).toInt
      val queue   = rule.queue.getOrElse(spread(entry))
      val kept    = if (rule.snap == 0) frame.data.size else rule.snap min frame.data.size
      val verdict = dut.io.verdict
      val text    = s"$flow, rule $number $rule, hash $hash"
      assert(head == (BigInt(frame.time), frame.port, frame.original, kept), text)
      assert(data.take(frame.data.size) == frame.data && data.size == 32 * frame.beats, text)
      assert(verdict.matched.toBoolean == number >= 0, text)
      if (number >= 0) assert(verdict.rule.toInt == number, text)
      assert(verdict.discard.toBoolean == (number >= 0 && rule.discard), text)
      assert(verdict.snap.toInt == rule.snap && verdict.queue.toInt == queue, text)
      assert(verdict.hash.toLong == hash, text)
      matched(number) += 1
      queues(queue) += 1
      taken += 1
      data.clear()
    }

    def drain(): Unit = {
      var quiet = 0
      while (quiet < 100) {
        quiet = if (source.isEmpty && driver.idle && waiting.isEmpty) quiet + 1 else 0
        cycle()
      }
      assert(!dut.io.busy.toBoolean)
    }
  }

  for (pauses <- Seq(0.0, 0.3))
    test(s"random rules and frames, pauses $pauses, seed ${Seed.value}") {
      compiled.doSim(s"random$pauses", Seed.value) { dut =>
        val r     = new Random(Seed.value)
        val bench = new Bench(dut, r, pauses)
        bench.reset()
        for (round <- 0 until 30) {
          bench.rules = Seq.fill(if (round == 0) 0 else 1 + r.nextInt(16))(RuleModel.random(r))
          bench.spread = IndexedSeq.fill(Spread.Entries)(r.nextInt(16))
          bench.byPort = round % 4 == 3
          bench.set()
          bench.source ++= Seq.tabulate(150)(i => FlowFrames(r, 1000L * round + i))
          bench.drain()
        }
        assert(bench.taken == 30 * 150)
        assert(bench.matched.size > 12, s"matches: ${bench.matched}")
        assert(bench.queues.size == 16, s"queues: ${bench.queues}")
      }
    }

  test("both directions of each connection are in one queue, and the queues are even") {
    compiled.doSim("spread", Seed.value) { dut =>
      val r     = new Random(Seed.value)
      val bench = new Bench(dut, r, 0)
      bench.reset()
      bench.spread = IndexedSeq.tabulate(Spread.Entries)(_ % 16)
      bench.set()
      def half(value: Int) = Seq(value >> 8, value & 0xff)
      for (i <- 0 until 1000) {
        def end()        = (Seq.fill(4)(r.nextInt(256)), half(r.nextInt(65536)))
        val (one, other) = (end(), end())
        def frame(a: (Seq[Int], Seq[Int]), b: (Seq[Int], Seq[Int])) = Seq.fill(12)(0) ++
          Seq(8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0) ++ a._1 ++ b._1 ++ a._2 ++ b._2
        for ((bytes, k) <- Seq(frame(one, other), frame(other, one)).zipWithIndex) {
          val data = bytes.padTo(60, 0).map(_.toByte).toIndexedSeq
          bench.source += TestFrame(2L * i + k, 0, 60, data)
        }
      }
      var pair = Seq[Int]()
      dut.clockDomain.onSamplings {
        if (dut.io.leaves.toBoolean) {
          pair = pair :+ dut.io.verdict.queue.toInt
          if (pair.size == 2) {
            assert(pair(0) == pair(1))
            pair = Seq()
          }
        }
      }
      bench.drain()
      assert(bench.queues.size == 16 && bench.queues.values.forall(n => n > 60 && n < 200))
    }
  }

  for ((rules, cycles) <- Seq((0, 3.0), (12, 3.0), (16, 4.0)))
    test(s"$rules rules: a frame of 64 bytes takes $cycles cycles") {
      compiled.doSim(s"rate$rules", Seed.value) { dut =>
        val bench = new Bench(dut, new Random(Seed.value), 0)
        bench.reset()
        bench.rules = Seq.fill(rules)(RuleModel(port = Some(3)))
        bench.set()
        val data = Seq.fill(64)(0.toByte).toIndexedSeq
        bench.source ++= Seq.tabulate(1000)(i => TestFrame(i, 0, 64, data))
        var spent = 0
        while (bench.taken < 1000) {
          bench.cycle()
          spent += 1
        }
        assert(spent < 1000 * cycles + 50, s"$spent cycles for 1000 frames")
      }
    }
}
