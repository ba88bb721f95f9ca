// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.vocabulary

import scala.collection.mutable
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import spinal.core.sim._

/** FreeNumbers has all numbers but those below `first` at the start, and gives out each of them
  * only while it is free.
  */
class FreeNumbersTest extends AnyFunSuite {
  private val Count  = 16
  private val Cycles = 3000

  for (first <- Seq(0, 5); latency <- Seq(1, 2)) {
    test(s"a number is in use once, first $first, latency $latency, seed ${Seed.value}") {
      LaneboxSim(FreeNumbers(Count, first, latency)).doSim { dut =>
        val random = new Random(Seed.value)
        val used   = mutable.ArrayBuffer.range(0, first)
        val fresh  = mutable.ArrayBuffer[Int]() // Numbers in the order of their first use.
        var most   = 0
        dut.io.free.valid #= false
        dut.io.take.ready #= false
        dut.clockDomain.forkStimulus(10)
        dut.clockDomain.waitSampling(4)
        for (cycle <- 0 until Cycles) {
          // For some hundred cycles each, numbers are mostly taken, or mostly given back.
          val share = if (cycle / 300 % 2 == 0) 0.8 else 0.3
          dut.io.take.ready #= random.nextDouble() < share
          val back = used.nonEmpty && random.nextDouble() < 1 - share
          dut.io.free.valid #= back
          if (back) dut.io.free.payload #= used.remove(random.nextInt(used.size))
          dut.clockDomain.waitSampling()
          if (dut.io.take.valid.toBoolean && dut.io.take.ready.toBoolean) {
            val number = dut.io.take.payload.toInt
            assert(!used.contains(number), s"$number came again in cycle $cycle")
            used += number
            if (!fresh.contains(number)) fresh += number
            most = most max used.size
          }
        }
        assert(most == Count, s"at most $most of $Count numbers were in use")
        assert(fresh.filter(_ >= first) == Seq.range(first, Count))
      }
    }
  }

  test("no number is lost: all come again after all have come back") {
    LaneboxSim(FreeNumbers(Count)).doSim { dut =>
      dut.io.free.valid #= false
      dut.io.take.ready #= false
      dut.clockDomain.forkStimulus(10)
      dut.clockDomain.waitSampling(4)
      for (_ <- 0 until 4) {
        val found = mutable.Set[Int]()
        dut.io.take.ready #= true
        for (_ <- 0 until 4 * Count) {
          dut.clockDomain.waitSampling()
          if (dut.io.take.valid.toBoolean) found += dut.io.take.payload.toInt
        }
        assert(found == Set.range(0, Count))
        dut.io.take.ready #= false
        dut.io.free.valid #= true
        for (number <- found) {
          dut.io.free.payload #= number
          dut.clockDomain.waitSampling()
        }
        dut.io.free.valid #= false
      }
    }
  }

  test("a count that is no power of two, and a first that is no number, are refused") {
    for ((count, first, rule) <- Seq((12, 0, "12 numbers"), (1, 0, "1 numbers"), (8, 8, "first 8")))
      assert(
        intercept[Throwable](LaneboxSim(FreeNumbers(count, first))).getMessage.contains(rule)
      )
  }
}
