// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.player

import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._
import spinal.lib._

import lanebox.capture.TestFrame
import lanebox.vocabulary.{Frames, LaneboxSim, Numbers, Seed}

/** Tests that NetFrames copies each frame of both directions, whole, in order and with the time of
  * its first beat; that it counts each frame that finds no room; and that no frame from before
  * `on` rose is copied after that.
  */
class NetFramesTest extends AnyFunSuite {
  lazy val compiled = LaneboxSim(NetFrames())

  /** A frame that a direction had. `run` is how often `on` had risen when it began; 0: `on` was
    * low.
    */
  private case class Had(frame: TestFrame, time: BigInt, run: Int)

  /** Offers a random frame after the other to a port that cannot wait, and keeps a list of them. */
  private class Source(port: Flow[Fragment[Frames.Beat]], r: Random, largest: Int, bench: Bench) {
    val had           = mutable.ArrayBuffer[Had]()
    var frame         = Option.empty[TestFrame]
    var beat          = 0
    var pauses        = 0.5
    var begins        = true
    def idle: Boolean = frame.isEmpty

    def cycle(): Unit = {
      if (frame.isEmpty && begins && r.nextDouble() >= pauses) {
        frame = Some(TestFrame.random(r, 0, largest, bad = 10))
        beat = 0
      }
      val valid = frame.nonEmpty && r.nextInt(8) != 0
      port.valid #= valid
      if (valid) drive(frame.get)
    }

    private def drive(f: TestFrame): Unit = {
      val part = f.data.slice(32 * beat, 32 * beat + 32)
      val last = beat == f.beats - 1
      if (beat == 0) had += Had(f, bench.now, if (bench.on) bench.run else 0)
      port.data #= TestFrame.bits(part ++ Seq.fill(32 - part.size)(r.nextInt().toByte))
      port.last #= last
      port.bytes #= (if (last) f.data.size % 32 else r.nextInt(32))
      port.error #= f.error
      // Only the first beat has the frame's head.
      port.head.original #= (if (beat == 0) f.original else r.nextInt(1 << 16))
      port.head.kept #= (if (beat == 0) f.data.size else r.nextInt(1 << 14))
      port.head.time #= r.nextLong() & Long.MaxValue
      port.head.port #= r.nextInt(16)
      port.head.flags #= r.nextInt() & 0xffffffffL
      beat += 1
      if (last) frame = None
    }
  }

  private class Bench(dut: NetFrames, r: Random, largest: Int) {
    var now      = BigInt(1) << 40
    var on       = false
    var wanted   = false
    var run      = 0
    var held     = 0.0
    var lossless = false // No frame is lost, so it is known which one is next.
    val got           = mutable.ArrayBuffer[(Int, Had)]() // each copy with the run in which it came
    val data          = Seq.fill(2)(mutable.ArrayBuffer[Byte]())
    private val began = Array(0, 0)
    val source        = Seq(dut.io.received, dut.io.sent).map(new Source(_, r, largest, this))
    private val next  = Array(0, 0)

    dut.io.frames.foreach(_.ready #= false)
    dut.io.on #= false
    dut.io.now #= now
    source.foreach(_.begins = false)
    source.foreach(_.cycle())
    dut.clockDomain.forkStimulus(10)
    dut.clockDomain.waitSampling(5)

    /** Switches `on` in the next cycle, together with the beats of that cycle. */
    def turn(value: Boolean): Unit = wanted = value

    def cycles(count: Int): Unit = for (_ <- 0 until count) {
      dut.clockDomain.waitSampling()
      for (way <- 0 until 2) take(way)
      now += 4
      dut.io.now #= now
      if (wanted && !on) run += 1
      on = wanted
      dut.io.on #= on
      source.foreach(_.cycle())
      dut.io.frames.foreach(_.ready #= r.nextDouble() >= held)
    }

    /** Let all frames end, and all copies leave. */
    def rest(): Unit = {
      source.foreach(_.begins = false)
      held = 0
      cycles(3000)
      assert(source.forall(_.idle) && !dut.io.busy.toBoolean && data.forall(_.isEmpty))
    }

    /** Compares a beat with the frames of its direction. A copy is the next frame, or one behind it
      * if those between were lost.
      */
    private def take(way: Int): Unit = {
      val frames = dut.io.frames(way)
      val begun  = dut.io.begun(way)
      // `begun` shows a frame two cycles after its first beat, when `now` was 8 ns less.
      val shown = source(way).had.lift(next(way)).map(_.time).filter(_ <= now - 8)
      if (lossless) assert(begun.valid.toBoolean == shown.nonEmpty)
      if (lossless && shown.nonEmpty) assert(begun.payload.toBigInt == shown.get)
      if (frames.valid.toBoolean) assert(begun.valid.toBoolean)
      if (!frames.valid.toBoolean || !frames.ready.toBoolean) return
      assert(begun.payload.toBigInt == frames.head.time.toBigInt)
      if (data(way).isEmpty) began(way) = run
      data(way) ++= TestFrame.bytes(frames.data.toBigInt)
      val kept = frames.head.kept.toInt
      assert(frames.last.toBoolean == data(way).size >= kept)
      if (!frames.last.toBoolean) return
      assert(frames.head.flags.toLong == 1 + way)
      assert(frames.head.port.toInt == Numbers.CaptureNetPort)
      while (source(way).had(next(way)).time < frames.head.time.toBigInt) next(way) += 1
      val want = source(way).had(next(way))
      assert(want.time == frames.head.time.toBigInt, "the time of no frame")
      assert(kept == want.frame.data.size && frames.bytes.toInt == kept % 32)
      assert(frames.head.original.toInt == want.frame.original)
      assert(frames.error.toBoolean == want.frame.error)
      assert(data(way).take(kept) == want.frame.data)
      next(way) += 1
      got += ((began(way), want))
      data(way).clear()
    }

    def sources: Int = source.map(_.had.size).sum
    def lost: Long   = dut.io.lost.toLong
  }

  for (held <- Seq(0.0, 0.3))
    test(s"each frame of both directions is copied, sink pauses $held, seed ${Seed.value}") {
      compiled.doSim(s"all$held", Seed.value) { dut =>
        val bench = new Bench(dut, new Random(Seed.value), 700)
        bench.turn(true)
        bench.cycles(3)
        bench.source.foreach { each => each.begins = true; each.pauses = 0.97 }
        bench.held = held
        bench.lossless = true
        bench.cycles(30000)
        bench.rest()
        assert(bench.lost == 0 && bench.sources > 500)
        assert(bench.got.size == bench.sources)
      }
    }

  test(s"frames without room are lost whole, and counted, seed ${Seed.value}") {
    compiled.doSim("lost", Seed.value) { dut =>
      val bench = new Bench(dut, new Random(Seed.value), 16383)
      bench.turn(true)
      bench.cycles(3)
      for (held <- Seq(0.9, 0.5, 1.0, 0.7)) {
        bench.source.foreach { each => each.begins = true; each.pauses = 0.3 }
        bench.held = held
        bench.cycles(15000)
      }
      bench.rest()
      assert(bench.lost > 100 && bench.got.size > 100)
      assert(bench.got.size + bench.lost == bench.sources)
    }
  }

  test(s"a frame that needs the whole store is copied, and one of 32 heads is the last that fits") {
    compiled.doSim("full", Seed.value) { dut =>
      val bench = new Bench(dut, new Random(Seed.value), 20)
      bench.turn(true)
      bench.held = 1.0
      bench.cycles(3)
      // Small frames fill the heads of one direction. Some may have left for the pipeline behind.
      val first = bench.source.head
      while (bench.lost == 0) {
        first.begins = true
        bench.cycles(1)
      }
      val fit = first.had.size - 1
      assert(fit >= FrameCopy.StoreFrames && fit <= FrameCopy.StoreFrames + 6, fit)
      bench.rest()
      assert(bench.got.size + bench.lost == first.had.size)
      val largest = new Source(dut.io.sent, new Random(Seed.value), 20, bench)
      val random  = new Random(Seed.value)
      val whole   = Array.fill(16383)(random.nextInt().toByte).toIndexedSeq
      largest.begins = false
      largest.frame = Some(TestFrame(0, 0, whole.size, whole))
      val before = bench.lost
      while (!largest.idle) {
        dut.clockDomain.waitSampling()
        bench.now += 4
        dut.io.now #= bench.now
        largest.cycle()
      }
      dut.clockDomain.waitSampling()
      dut.io.sent.valid #= false
      dut.clockDomain.waitSampling(20)
      assert(bench.lost == before && dut.io.frames(1).valid.toBoolean)
    }
  }

  test(s"nothing from before `on` rose is copied after it, seed ${Seed.value}") {
    compiled.doSim("off", Seed.value) { dut =>
      val r     = new Random(Seed.value)
      val bench = new Bench(dut, r, 1600)
      for (_ <- 0 until 60) {
        bench.turn(true)
        bench.held = Seq(0.0, 0.2, 0.9)(r.nextInt(3))
        bench.source.foreach { each => each.begins = true; each.pauses = 0.9 }
        bench.cycles(1 + r.nextInt(600))
        bench.turn(false)
        // A copy that leaves may need the sink to be quick, before `on` rises again.
        if (r.nextBoolean()) bench.held = 0
        bench.cycles(1 + r.nextInt(200))
      }
      bench.turn(true)
      bench.cycles(2)
      assert(bench.lost == 0, "the count of an earlier run")
      bench.rest()
      assert(bench.got.size > 300)
      assert(bench.got.forall { case (_, had) => had.run != 0 }, "a frame that began while off")
      // A frame that was leaving when `on` fell may end later, and each stage behind holds a beat.
      val stale = bench.got.groupBy(_._1).values.map(_.count { case (run, had) => had.run < run })
      assert(stale.forall(_ <= 4), stale)
    }
  }
}
