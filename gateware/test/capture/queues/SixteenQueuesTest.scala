// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.queues

import org.scalatest.funsuite.AnyFunSuite
import scala.util.Random
import spinal.core.sim._

import lanebox.capture.vocabulary.CaptureParam
import lanebox.capture.{CaptureQueues, CaptureSetup}
import lanebox.vocabulary.{LaneboxSim, Seed}

/** Sixteen queues, the most that a build can have, share the host evenly, and a queue whose host has
  * stopped costs the others nothing. CaptureQueuesTest has all other tests of several queues.
  */
class SixteenQueuesTest extends AnyFunSuite {
  val Queues        = 16
  lazy val compiled = LaneboxSim(CaptureQueues(CaptureParam(queues = Queues)))

  def run(name: String, setup: CaptureSetup)(body: CaptureQueuesBench => Unit): Unit =
    compiled.doSim(name, Seed.value) { dut =>
      val bench = new CaptureQueuesBench(dut, new Random(Seed.value), setup)
      bench.spread = IndexedSeq.tabulate(Spread.Entries)(identity(_) % Queues)
      bench.byPort = true
      bench.reset()
      bench.begin()
      body(bench)
    }

  test(s"sixteen queues share a saturated host within 2 percent, seed ${Seed.value}") {
    val setup = CaptureSetup(limits = 1, segmentLog2 = 15, hostPauses = 0.3, mbufLog2 = 14)
    run("fair", setup) { bench =>
      bench.offerSize(6400, 1500)
      // The frames fill the staging memory first, which has 1 MiB.
      bench.cycles(80000)
      val before = bench.hosts.map(_.beats)
      // Each queue writes some 80 cells of 4 KiB. One more or one less is 1.3 percent.
      bench.cycles(220000)
      assert(bench.source.nonEmpty, "the frames do not saturate the host")
      val beats = bench.hosts.zip(before).map { case (host, earlier) => host.beats - earlier }
      info(beats.mkString(", ") + " beats")
      assert(beats.max <= 1.02 * beats.min, s"$beats")
      bench.source.clear()
      bench.hosts.head.pauses = 0
      bench.stop()
      val delivered = bench.check().map(_.size)
      assert(delivered.forall(_ < 6400 / Queues), s"$delivered: the host is not saturated")
    }
  }

  test(s"a stopped queue of sixteen costs the others nothing, seed ${Seed.value}") {
    val setup = CaptureSetup(limits = 1, segmentLog2 = 14, framePauses = 0.3)
    run("stopped", setup) { bench =>
      val each = 600
      bench.stopped += 5
      bench.offerSize(each * Queues, 120)
      bench.drain(100000)
      bench.stop()
      val delivered = bench.check().map(_.size)
      assert(delivered(5) < each - 100, s"$delivered: queue 5 has no room for more")
      assert(delivered.patch(5, Nil, 1) == Seq.fill(Queues - 1)(each), s"$delivered")
    }
  }
}
