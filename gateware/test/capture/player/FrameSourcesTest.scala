// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.player

import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.capture.{FrameDriver, TestFrame}
import lanebox.vocabulary.{LaneboxSim, Seed}

/** Tests FrameSources: the frames of all sources come out whole, those of a source in order, and no
  * source is left out.
  */
class FrameSourcesTest extends AnyFunSuite {
  test(s"frames of three sources are joined whole, seed ${Seed.value}") {
    LaneboxSim(FrameSources(3)).doSim("joined", Seed.value) { dut =>
      val r       = new Random(Seed.value)
      val waiting = Seq.fill(3)(mutable.Queue[TestFrame]())
      val sent    = Seq.fill(3)(mutable.ArrayBuffer[TestFrame]())
      for (source <- 0 until 3; i <- 0 until 200)
        waiting(source) += TestFrame.random(r, i, largest = 300).copy(port = source, flags = 0)
      val drivers = for ((queue, i) <- waiting.zipWithIndex) yield {
        val driver = new FrameDriver(dut.io.inputs(i), r)(
          if (queue.isEmpty) None else Some(queue.dequeue())
        )
        driver.pauses = 0.2
        driver.begun = frame => sent(i) += frame
        driver
      }
      val output = dut.io.output
      val came   = Seq.fill(3)(mutable.ArrayBuffer[TestFrame]())
      val bytes  = mutable.ArrayBuffer[Byte]()
      var head   = TestFrame(0, 0, 0, IndexedSeq())
      var kept   = 0
      output.ready #= false
      for (input <- dut.io.inputs) input.valid #= false
      dut.clockDomain.forkStimulus(10)
      dut.clockDomain.waitSampling(5)
      def cycle(): Unit = {
        dut.clockDomain.waitSampling()
        if (output.valid.toBoolean && output.ready.toBoolean) {
          if (bytes.isEmpty) {
            kept = output.head.kept.toInt
            head = TestFrame(
              output.head.time.toBigInt.toLong,
              output.head.port.toInt,
              output.head.original.toInt,
              IndexedSeq()
            )
          }
          bytes ++= TestFrame.bytes(output.data.toBigInt)
          if (output.last.toBoolean) {
            came(head.port) += head.copy(data = bytes.take(kept).toIndexedSeq)
            bytes.clear()
          }
        }
        drivers.foreach(_.cycle())
        output.ready #= r.nextDouble() >= 0.3
      }
      for (_ <- 0 until 1500) cycle()
      val counts = came.map(_.size)
      assert(counts.max - counts.min <= 2, s"the sources had $counts turns")
      var quiet = 0
      while (quiet < 300) {
        quiet = if (waiting.exists(_.nonEmpty) || drivers.exists(!_.idle)) 0 else quiet + 1
        cycle()
      }
      for (source <- 0 until 3) {
        assert(came(source).size == 200)
        assert(came(source) == sent(source))
      }
    }
  }
}
