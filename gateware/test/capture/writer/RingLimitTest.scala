// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.writer

import org.scalatest.funsuite.AnyFunSuite
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.Bool
import spinal.core.sim._

import lanebox.vocabulary.{LaneboxSim, Seed}

/** Tests that RingLimit allows an MBUF (a fixed part of the ring) to begin if and only if all of it
  * is below the largest limit that the host gave, or if `newest` is set, which means no limit.
  */
class RingLimitTest extends AnyFunSuite {
  lazy val compiled = LaneboxSim(RingLimit())

  for (mbufLog2 <- Seq(12, 16, 22); newest <- Seq(false, true))
    test(s"MBUFs of 2^$mbufLog2 bytes, newest $newest, seed ${Seed.value}") {
      compiled.doSim(s"$mbufLog2$newest", Seed.value) { dut =>
        val r     = new Random(Seed.value)
        val mbuf  = 1L << mbufLog2
        var limit = 0L
        // The number of MBUFs that are complete.
        var done             = 0L
        var allowed, refused = 0
        dut.io.newest #= newest
        dut.io.mbufLog2 #= mbufLog2
        dut.io.limit.valid #= false
        dut.io.advance #= false
        dut.io.clear #= false
        dut.clockDomain.forkStimulus(10)
        dut.clockDomain.waitSampling(5)
        dut.io.clear #= true
        dut.clockDomain.waitSampling()
        dut.io.clear #= false
        dut.clockDomain.waitSampling(5)
        for (turn <- 0 until 2000) {
          if (r.nextInt(3) == 0) {
            // The host's limits may be smaller than before, or no multiple of the MBUF's size. In
            // the last quarter of the test they grow in large steps.
            val step  = if (turn > 1500) mbuf << 20 else mbuf
            val value = (done * mbuf + ((r.nextDouble() * 3 - 1) * step).toLong) max 0
            dut.io.limit.valid #= true
            dut.io.limit.payload #= BigInt(value)
            limit = limit max value
          }
          dut.clockDomain.waitSampling()
          dut.io.limit.valid #= false
          dut.clockDomain.waitSampling(4)
          val may = newest || (done + 1) * mbuf <= limit
          assert(dut.io.known.toBoolean && dut.io.allowed.toBoolean == may, s"MBUF $done, $limit")
          if (may) {
            allowed += 1
            dut.io.advance #= true
            dut.clockDomain.waitSampling()
            dut.io.advance #= false
            done += 1
            // Whenever RingLimit's output `known` is high, `allowed` must be right for the next
            // MBUF.
            for (_ <- 0 until 4) {
              dut.clockDomain.waitSampling()
              if (dut.io.known.toBoolean)
                assert(dut.io.allowed.toBoolean == (newest || (done + 1) * mbuf <= limit))
            }
          } else refused += 1
        }
        assert(allowed > 100 && (newest || refused > 100), s"$allowed allowed, $refused refused")
      }
    }

  /** Runs a body with a ring of MBUFs of 4 KiB. The body gets a function that clears the ring, and
    * one that gives a limit and returns whether an MBUF is then allowed.
    */
  private def runWithLimits(name: String)(body: (() => Unit, BigInt => Boolean) => Unit): Unit =
    compiled.doSim(name, Seed.value) { dut =>
      dut.io.newest #= false
      dut.io.mbufLog2 #= 12
      dut.io.limit.valid #= false
      dut.io.advance #= false
      dut.io.clear #= false
      dut.clockDomain.forkStimulus(10)
      dut.clockDomain.waitSampling(5)

      def pulse(signal: Bool): Unit = {
        signal #= true
        dut.clockDomain.waitSampling()
        signal #= false
        dut.clockDomain.waitSampling(5)
      }
      def allows(limit: BigInt): Boolean = {
        dut.io.limit.payload #= limit
        pulse(dut.io.limit.valid)
        dut.io.allowed.toBoolean
      }
      body(() => pulse(dut.io.clear), allows)
    }

  test("each bit of a limit counts") {
    runWithLimits("bits") { (clear, allows) =>
      for (bit <- 0 until 64) {
        clear()
        assert(allows(BigInt(1) << bit) == bit >= 12, s"2^$bit")
      }
    }
  }

  test("the largest limit, 2^64 - 1, counts, and no smaller one takes it back") {
    runWithLimits("largest") { (clear, allows) =>
      clear()
      assert(allows((BigInt(1) << 64) - 1))
      for (bit <- 0 until 64) assert(allows(BigInt(1) << bit), s"2^$bit takes 2^64 - 1 back")
    }
  }
}
