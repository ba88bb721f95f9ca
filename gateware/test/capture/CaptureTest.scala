// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture

import org.scalatest.funsuite.AnyFunSuite
import scala.language.reflectiveCalls
import scala.util.Random

import lanebox.capture.vocabulary.CaptureParam
import lanebox.vocabulary.{LaneboxSim, Seed}
import spinal.core.sim._

/** The capture block writes each frame to the ring once, byte for byte, or loses it and counts it
  * once.
  */
class CaptureTest extends AnyFunSuite {
  lazy val compiled = LaneboxSim(Capture(CaptureParam(cells = 16, segments = 16)))

  def run(name: String, setup: CaptureSetup, salt: Int = 0)(body: CaptureBench => Unit): Unit =
    compiled.doSim(name, Seed.value + salt) { dut =>
      val bench = new CaptureBench(dut, new Random(Seed.value + salt), setup)
      bench.reset()
      bench.begin()
      body(bench)
    }

  test(s"without stalls nothing is lost, seed ${Seed.value}") {
    run("calm", CaptureSetup(limits = 1)) { bench =>
      bench.offer(400)
      bench.drain(30000)
      bench.stop()
      assert(bench.check().size == 400)
    }
  }

  val moods = Seq(
    CaptureSetup(hostPauses = 0.3, framePauses = 0.1, keepBad = true),
    CaptureSetup(mbufLog2 = 13, hostPauses = 0.7, snap = 100, relaxed = true, seals = 0.001),
    CaptureSetup(segments = 3, segmentLog2 = 14, mbufLog2 = 14, limits = 0.0005, waits = 0),
    CaptureSetup(segments = 1, segmentLog2 = 15, framePauses = 0.5, hostPauses = 0.9),
    CaptureSetup(newest = true, segmentLog2 = 14, hostPauses = 0.2),
    CaptureSetup(lossless = true, limits = 0.002, hostPauses = 0.5, seals = 0.002, waits = 0)
  )
  for ((mood, i) <- moods.zipWithIndex)
    test(s"every frame is delivered or counted, mood $i, seed ${Seed.value}") {
      run(s"mood$i", mood, i) { bench =>
        bench.offer(300, largest = if (i % 2 == 0) 1600 else 5000, bad = 5)
        bench.drain(60000)
        bench.stop()
        val delivered = bench.check().size
        if (mood.lossless) assert(delivered == bench.seen.count(!_.error))
        assert(delivered > 20, s"$delivered delivered")
      }
    }

  test(s"a host that pauses loses what comes, and nothing later, seed ${Seed.value}") {
    run("pause", CaptureSetup(limits = 1)) { bench =>
      bench.offer(50)
      bench.drain(3000)
      bench.holds = true
      bench.offer(200)
      bench.drain(20000)
      assert(bench.host.limit - bench.host.position <= 4096, "not all of the ring was used")
      bench.holds = false
      bench.cycles(100)
      bench.offer(100)
      bench.drain(10000)
      bench.stop()
      val frames = bench.check().map(_.frame)
      assert(frames.takeRight(100) == bench.seen.takeRight(100) && frames.size < 330)
    }
  }

  test(s"a second recording begins anew, also after a stop under load, seed ${Seed.value}") {
    compiled.doSim("again", Seed.value) { dut =>
      for (round <- 0 until 3) {
        val random = new Random(Seed.value + round)
        val bench  = new CaptureBench(dut, random, CaptureSetup(hostPauses = 0.3, limits = 0.1))
        bench.reset(first = round == 0)
        bench.begin()
        bench.offer(200)
        bench.cycles(500 + random.nextInt(1000))
        bench.stop()
        bench.check()
        // The capture block takes and drops the frames that it had not taken before its stop.
        while (bench.source.nonEmpty || !bench.driver.idle) bench.cycle()
      }
    }
  }

  test("a frame is in host memory 100 cycles after its last beat, if records do not wait") {
    run("latency", CaptureSetup(limits = 1, waits = 0)) { bench =>
      val taken = for (_ <- 0 until 20) yield {
        val lines = bench.host.lines
        bench.offerSize(1, 60)
        while (bench.host.lines == lines) bench.cycle()
        val cycles = bench.host.lastLineBeat - (bench.begunAt.last + 1)
        bench.cycles(bench.random.nextInt(100))
        cycles
      }
      bench.stop()
      bench.check()
      info(s"${taken.min} to ${taken.max} cycles")
      assert(taken.max <= 100)
    }
  }

  for ((size, beats) <- Seq(60 -> 3, 65 -> 4, 96 -> 4, 1514 -> 49))
    test(s"frames of ${size + 4} B on the line take $beats cycles each") {
      run(s"rate$size", CaptureSetup(limits = 1, mbufLog2 = 15, segmentLog2 = 20)) { bench =>
        val count = 4000 / beats
        bench.offerSize(count, size)
        bench.drain(6000)
        val begun  = bench.begunAt
        val cycles = (begun.last - begun(20)).toDouble / (count - 21)
        bench.stop()
        assert(bench.check().size == count)
        info(f"$cycles%.3f cycles")
        assert(cycles < beats * 1.02)
      }
    }
}
