// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rc

import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable
import scala.util.Random
import spinal.core._
import spinal.core.sim._

import lanebox.vocabulary.{LaneboxSim, Seed}

/** Tests RcBacklog, the card's queue of RC beats, which must never hold RC off. RcBacklog consists
  * of two queues. Beats keep their order in both, and all beats that may be outstanding have room.
  */
class RcBacklogTest extends AnyFunSuite {
  private lazy val compiled = LaneboxSim(RcBacklog(UInt(32 bits)))

  private class Bench(dut: RcBacklog[UInt], random: Random) {
    private val waiting = mutable.Queue[Long]()
    var most, passed    = 0
    var refused         = 0L
    dut.io.push.valid #= false
    dut.io.pop.ready #= false
    dut.clockDomain.forkStimulus(10)
    dut.clockDomain.waitSampling(5)

    /** Runs a cycle. `offers` is the chance that a beat is offered to the backlog, and `takes` the
      * chance that one is taken from it.
      */
    def cycle(offers: Double, takes: Double): Unit = {
      val (push, pop) = (dut.io.push, dut.io.pop)
      dut.clockDomain.waitSampling()
      val offered = push.valid.toBoolean
      if (pop.valid.toBoolean && pop.ready.toBoolean) {
        assert(
          waiting.nonEmpty && pop.payload.toLong == waiting.dequeue(),
          "another beat was older"
        )
        passed += 1
      }
      if (offered && push.ready.toBoolean) waiting += push.payload.toLong
      if (offered && !push.ready.toBoolean) refused += 1
      else {
        push.valid #= random.nextDouble() < offers
        push.payload #= random.nextInt() & 0xffffffffL
      }
      pop.ready #= random.nextDouble() < takes
      most = most max waiting.length
    }
    def empty: Boolean = waiting.isEmpty
  }

  test(s"beats keep their order through both queues, seed ${Seed.value}")(
    compiled.doSim("order", Seed.value) { dut =>
      val random = new Random(Seed.value)
      val bench  = new Bench(dut, random)
      for (_ <- 0 until 400) {
        val (offers, takes) = (random.nextDouble(), random.nextDouble())
        for (_ <- 0 until random.nextInt(200)) bench.cycle(offers, takes)
        // The test often empties the backlog, so that beats change from one of its queues to the
        // other.
        if (random.nextBoolean()) for (_ <- 0 until random.nextInt(100)) bench.cycle(0, 1)
      }
      while (!bench.empty) bench.cycle(0, 1)
      assert(bench.most > 4 * RcBacklog.Near && bench.passed > 10000)
      assert(bench.refused == 0)
    }
  )

  test("all that reads may have outstanding fits, and comes out without a pause")(
    compiled.doSim("room", Seed.value) { dut =>
      val bench = new Bench(dut, new Random(Seed.value))
      while (bench.most < RcBacklog.Most) bench.cycle(1, 0)
      assert(bench.refused == 0)
      val before = bench.passed
      for (_ <- 0 until RcBacklog.Most) bench.cycle(1, 1)
      assert(bench.passed >= before + RcBacklog.Most - 1)
      while (!bench.empty) bench.cycle(0, 1)
    }
  )

  test("the most beats that completion space allows fit, none of them taken")(
    compiled.doSim("most", Seed.value) { dut =>
      // The number of beats is computed from PG213 and not from RcBacklog: every header credit is
      // in use, and each completion has an equal part of the data. Without straddle each completion
      // begins a new beat.
      val (headers, bytes) = (256, 16 * 2048)
      val dwords           = 3 + bytes / headers / 4
      val bench            = new Bench(dut, new Random(Seed.value))
      while (bench.most < headers * ((dwords + 7) / 8)) {
        bench.cycle(1, 0)
        assert(bench.refused == 0, s"RC is held off after ${bench.most} beats")
      }
      while (!bench.empty) bench.cycle(0, 1)
    }
  )

  test("a beat that need not wait passes in one cycle") {
    compiled.doSim("latency", Seed.value) { dut =>
      val bench = new Bench(dut, new Random(Seed.value))
      bench.cycle(1, 1)
      for (_ <- 0 until 1000) {
        bench.cycle(1, 1)
        assert(bench.most <= 2, s"${bench.most} beats are inside")
      }
    }
  }
}
