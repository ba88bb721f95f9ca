// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rq

import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable
import scala.util.Random
import spinal.core.sim._

import lanebox.vocabulary.{LaneboxSim, Seed}

/** Tests that RequestNumbers gives sequence numbers to write TLPs, and counts no write as gone too
  * early, whatever the number of writes that wait in the hard block, and in whatever order they
  * leave it.
  */
class RequestNumbersTest extends AnyFunSuite {
  test(s"31 writes wait at once, as many as there may be, seed ${Seed.value}") {
    LaneboxSim(RequestNumbers()).doSim("numbers", Seed.value) { dut =>
      val random  = new Random(Seed.value)
      val waiting = mutable.Queue[Int]()
      var most    = 0
      dut.io.issue #= false
      dut.io.pins.numbers.foreach(_.valid #= false)
      dut.clockDomain.forkStimulus(10)
      dut.clockDomain.waitSampling(10)

      /** Runs a cycle. With `write` the card issues a write if a number is free. `share` is the
        * chance that the hard block returns a number on each of its pins.
        */
      def cycle(write: Boolean, share: Double): Unit = {
        dut.clockDomain.waitSampling()
        sleep(1)
        val issues = write && dut.io.free.toBoolean
        dut.io.issue #= issues
        for (pin <- dut.io.pins.numbers) {
          val leaves = waiting.nonEmpty && random.nextDouble() < share
          pin.valid #= leaves
          if (leaves) pin.payload #= waiting.dequeue()
        }
        if (issues) waiting += dut.io.number.toInt
        most = most max waiting.size
      }

      for (round <- 0 until 40) {
        for (_ <- 0 until 50) cycle(write = true, 0)
        assert(waiting.size == 31, s"round $round: ${waiting.size} writes wait")
        for (_ <- 0 until random.nextInt(100)) cycle(write = true, 0.3)
        for (_ <- 0 until 60) cycle(write = false, 0.8)
        assert(waiting.isEmpty && dut.io.free.toBoolean, s"round $round")
        assert(
          dut.io.returned.toInt == dut.io.issued.toInt,
          s"round $round: numbers are missing"
        )
      }
      assert(most == 31)
    }
  }
}
