// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.writer

import org.scalatest.funsuite.AnyFunSuite
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.vocabulary.{LaneboxSim, Seed}

/** Tests that RingWake calls the host exactly once for each `wake`, when a status line that is
  * beyond it has left, and that `clear` forgets what was asked for.
  */
class RingWakeTest extends AnyFunSuite {
  lazy val compiled = LaneboxSim(RingWake())

  class Bench(dut: RingWake) {
    var calls = 0
    def cycle(): Unit = {
      dut.clockDomain.waitSampling()
      if (dut.io.call.toBoolean) calls += 1
      for (input <- Seq(dut.io.wake.valid, dut.io.lineSent.valid, dut.io.clear)) input #= false
    }
    def cycles(count: Int): Unit = for (_ <- 0 until count) cycle()
    def start(): Unit = {
      for (input <- Seq(dut.io.wake.valid, dut.io.lineSent.valid, dut.io.clear, dut.io.lineWaits))
        input #= false
      dut.clockDomain.forkStimulus(10)
      dut.clockDomain.waitSampling(5)
    }
    def arm(position: Long): Unit = {
      dut.io.wake.valid #= true
      dut.io.wake.payload #= BigInt(position)
      cycle()
    }

    /** Sends a status line that waits for `waits` cycles in the request register. */
    def line(position: Long, waits: Int): Unit = {
      dut.io.lineSent.valid #= true
      dut.io.lineSent.payload #= BigInt(position)
      cycle()
      dut.io.lineWaits #= true
      val before = calls
      cycles(waits)
      assert(calls == before, "a call before the line had left")
      dut.io.lineWaits #= false
    }
    def clear(): Unit = {
      dut.io.clear #= true
      cycle()
      cycle()
    }
  }

  def run(name: String)(body: (RingWake, Bench) => Unit): Unit =
    compiled.doSim(name, Seed.value) { dut =>
      val bench = new Bench(dut)
      bench.start()
      body(dut, bench)
    }

  test("a call comes once, behind the first line that is beyond the position") {
    run("once") { (_, bench) =>
      bench.arm(1000)
      bench.line(1000, 3)
      bench.cycles(20)
      assert(bench.calls == 0, "a line that tells of the same position is not beyond it")
      bench.line(1008, 40)
      bench.cycles(10)
      assert(bench.calls == 1)
      for (position <- 2000L until 2100L by 8) bench.line(position, 2)
      bench.cycles(20)
      assert(bench.calls == 1, "a call that was not asked for")
    }
  }

  test("a position that lies behind is called at once, also without a line that comes later") {
    run("behind") { (dut, bench) =>
      bench.line(4096, 5)
      bench.cycles(20)
      assert(bench.calls == 0)
      for (round <- 1 to 5) {
        bench.arm(4096 - 8 * round)
        bench.cycle()
        assert(dut.io.busy.toBoolean, "device time could stop before the comparison")
        bench.cycles(6)
        assert(bench.calls == round && !dut.io.busy.toBoolean)
      }
    }
  }

  test("the last position that was asked for counts") {
    run("last") { (_, bench) =>
      bench.line(4096, 5)
      bench.cycles(5)
      // `wake` is written a second time before the result for the first one comes.
      for (gap <- 0 to 1) {
        bench.arm(8192 + gap)
        bench.cycles(gap)
        bench.arm(9000)
      }
      bench.line(9000, 2)
      bench.cycles(10)
      assert(bench.calls == 0)
      bench.line(9008, 2)
      bench.cycles(10)
      assert(bench.calls == 1)
    }
  }

  test("clear forgets what was asked for and what was told") {
    run("clear") { (_, bench) =>
      bench.line(4096, 5)
      bench.arm(8192)
      bench.clear()
      bench.line(9000, 2)
      bench.cycles(10)
      assert(bench.calls == 0, "a call of the time before clear")
      bench.clear()
      bench.arm(0)
      bench.cycles(10)
      assert(bench.calls == 0, "no line has come since clear")
      bench.line(8, 2)
      bench.cycles(10)
      assert(bench.calls == 1)
    }
  }

  test(s"calls match a model, seed ${Seed.value}") {
    run("random") { (_, bench) =>
      val r        = new Random(Seed.value)
      var told     = 0L
      var wake     = 0L
      var armed    = false
      var expected = 0
      for (_ <- 0 until 3000) {
        if (r.nextBoolean()) {
          told += 8 * r.nextInt(3)
          bench.line(told, 1 + r.nextInt(4))
        } else {
          wake = (told + 8 * (r.nextInt(5) - 2)) max 0
          armed = true
          bench.arm(wake)
        }
        bench.cycles(4 + r.nextInt(3))
        if (armed && told > wake) {
          expected += 1
          armed = false
        }
        assert(bench.calls == expected, s"position $told, wake $wake")
      }
      assert(expected > 300)
    }
  }
}
