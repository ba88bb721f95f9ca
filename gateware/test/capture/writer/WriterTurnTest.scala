// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.writer

import org.scalatest.funsuite.AnyFunSuite
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.capture.vocabulary.CaptureParam
import lanebox.vocabulary.{LaneboxSim, Seed}

/** Tests that turns alternate between the queue of the oldest full cell and the next of all queues,
  * also when there is a full cell in every cycle.
  */
class WriterTurnTest extends AnyFunSuite {
  val Queues = 4

  test(s"every other turn is that of the next of all queues, seed ${Seed.value}") {
    LaneboxSim(WriterTurn(CaptureParam(queues = Queues))).doSim("turns", Seed.value) { dut =>
      val random = new Random(Seed.value)
      dut.io.full.valid #= false
      dut.io.done #= false
      dut.clockDomain.forkStimulus(10)
      dut.clockDomain.waitSampling(5)
      // Runs until another queue has the turn. Returns this queue.
      def turn(): Int = {
        dut.clockDomain.waitSampling(random.nextInt(4))
        dut.io.done #= true
        dut.clockDomain.waitSampling()
        dut.io.done #= false
        dut.clockDomain.waitSampling(2)
        assert(dut.io.valid.toBoolean && !dut.io.changes.toBoolean)
        dut.io.queue.toInt
      }
      var next     = (turn() + 1) % Queues
      var fullTurn = false // The present turn is that of a full cell.
      for (round <- 0 until 200) {
        val isFull = round < 100 || random.nextBoolean()
        val full   = random.nextInt(Queues)
        dut.io.full.valid #= isFull
        dut.io.full.payload #= full
        fullTurn = isFull && !fullTurn
        assert(turn() == (if (fullTurn) full else next), s"in turn $round")
        if (!fullTurn) next = (next + 1) % Queues
      }
    }
  }
}
