// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.steering

import org.scalatest.funsuite.AnyFunSuite
import scala.util.Random
import spinal.core.sim._

import lanebox.capture.TestFrame
import lanebox.vocabulary.{LaneboxSim, Seed}

/** Tests that received frames of a flow go to the pair by which the flow was sent last, and that
  * all other frames go to the first pair.
  */
class FlowTableTest extends AnyFunSuite {
  class Bench(dut: FlowTable, val random: Random) {
    dut.io.both #= false
    dut.io.sent.valid #= false
    dut.io.received.valid #= false
    dut.io.forget #= false
    dut.io.bySecond #= false
    dut.clockDomain.forkStimulus(10)
    dut.clockDomain.waitSampling(3)

    def both(on: Boolean): Unit = {
      dut.io.both #= on
      dut.clockDomain.waitSampling(1 + (if (on) 0 else 1 << FlowHash.Width))
    }
    def beats(
        frame: Seq[Byte],
        whole: Boolean = true
    )(give: (BigInt, Boolean) => Unit)(end: => Unit): Unit = {
      val parts = frame.grouped(32).toSeq
      for ((part, n) <- parts.zipWithIndex) {
        give(
          TestFrame.bits(part ++ Seq.fill(32 - part.size)(random.nextInt().toByte)),
          whole && n == parts.size - 1
        )
        dut.clockDomain.waitSampling()
        end
        dut.clockDomain.waitSampling(random.nextInt(3))
      }
    }
    def send(frame: Seq[Byte], second: Boolean, whole: Boolean = true): Unit =
      beats(frame, whole) { (data, last) =>
        dut.io.sent.valid #= true
        dut.io.sent.data #= data
        dut.io.sent.last #= last
        dut.io.bySecond #= second
      } {
        dut.io.sent.valid #= false
        dut.io.bySecond.randomize()
      }
    def forget(): Unit = {
      dut.io.forget #= true
      dut.clockDomain.waitSampling()
      dut.io.forget #= false
    }
    def receive(frame: Seq[Byte]): Boolean = {
      beats(frame) { (data, last) =>
        dut.io.received.valid #= true
        dut.io.received.fragment.data #= data
        dut.io.received.last #= last
      }(dut.io.received.valid #= false)
      sleep(1)
      dut.io.toSecond.toBoolean
    }
  }
  def run(name: String)(body: Bench => Unit): Unit =
    FlowTableTest.compiled.doSim(name, Seed.value) { dut =>
      body(new Bench(dut, new Random(simRandom.nextLong())))
    }

  test(s"a flow comes to the pair that sent it last, seed ${Seed.value}") {
    run("learns") { bench =>
      import bench.random
      bench.both(true)
      for (n <- 0 until 300) {
        val flow   = Flow(0, Flow.Kinds(n % Flow.Kinds.size), random)
        val second = random.nextInt(4) != 0
        bench.send(flow.frame(n, back = false), !second)
        bench.send(flow.frame(n, back = false), second)
        // The end of a frame that was given up, and the middle of one, are not those of a flow.
        if (n % 3 == 0) {
          bench.send(flow.frame(n, back = false).take(32), !second, whole = false)
          bench.forget()
        }
        for (_ <- 0 until 3)
          assert(bench.receive(flow.frame(n, back = true)) == (second && flow.known), flow.kind)
      }
    }
  }

  test(s"flows are spread over the table, seed ${Seed.value}") {
    run("spread") { bench =>
      import bench.random
      bench.both(true)
      for (kind <- Seq(Flow.Four, Flow.Six)) {
        bench.both(false)
        bench.both(true)
        for (_ <- 0 until 8)
          bench.send(Flow(0, kind, random).frame(0, back = false), second = true)
        val others =
          (0 until 200).count(_ => bench.receive(Flow(0, kind, random).frame(0, back = true)))
        assert(others < 40, s"$others of 200 unknown flows go to the second pair")
      }
    }
  }

  test(s"with one pair all flows are forgotten, seed ${Seed.value}") {
    run("forgets") { bench =>
      import bench.random
      val flows = Seq.fill(60)(Flow(0, Flow.Four, random))
      bench.both(true)
      for (flow <- flows) bench.send(flow.frame(0, back = false), second = true)
      for (flow <- flows) assert(bench.receive(flow.frame(0, back = true)))
      bench.both(false)
      for (flow <- flows) bench.send(flow.frame(0, back = false), second = true)
      for (flow <- flows) assert(!bench.receive(flow.frame(0, back = true)))
      bench.both(true)
      for (flow <- flows) assert(!bench.receive(flow.frame(0, back = true)))
    }
  }
}

object FlowTableTest {
  lazy val compiled = LaneboxSim(FlowTable())
}
