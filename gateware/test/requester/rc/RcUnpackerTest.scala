// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rc

import org.scalatest.funsuite.AnyFunSuite
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.vocabulary.{LaneboxSim, Seed}

/** Tests that RcUnpacker passes on the completions of RC, and lets probes in between. A probe looks
  * up the tag of a read that may have timed out. It may come at any time, except in the middle of a
  * completion with that tag, and no completion waits for it.
  */
class RcUnpackerTest extends AnyFunSuite {
  val tagCount = 4

  private lazy val compiled = LaneboxSim(RcUnpacker(tagWidth = 2))

  private def completion(random: Random): RcCompletion = {
    val dwords = Seq(0, 1, 4, 5, 13, 16, 32, 64)(random.nextInt(8))
    RcCompletion(
      tag = random.nextInt(tagCount),
      address = 0,
      byteCount = 4 * dwords,
      dwords = dwords,
      payload = Seq.fill(dwords)(random.nextInt()),
      done = true
    )
  }

  /** Watches the unpacker's outputs. It fails if a probe has a tag that it must not have, and
    * counts probes and completions.
    */
  private class Watch(dut: RcUnpacker) {
    // Tag of the completion whose beats the unpacker is passing on.
    var arriving: Option[Int] = None
    // Tag that the unpacker looked up in the table of reads in the cycle before.
    private var before: Option[Int]  = None
    var probes, completions, middles = 0
    // Number of probes that came with another tag while the beats of a completion paused.
    var pauses = 0

    def cycle(): Unit = {
      val visit = Option.when(dut.io.visit.valid.toBoolean)(dut.io.visit.header.tag.toInt)
      for (tag <- visit) {
        assert(!before.contains(tag), s"two visits in a row to tag $tag")
        if (dut.io.visit.probe.toBoolean) {
          assert(!arriving.contains(tag), s"a probe of tag $tag within its completion")
          probes += 1
          if (arriving.nonEmpty) middles += 1
          if (arriving.nonEmpty && !dut.io.step.valid.toBoolean) pauses += 1
        }
      }
      if (dut.io.step.valid.toBoolean) {
        if (visit.nonEmpty && !dut.io.visit.probe.toBoolean) {
          arriving = visit
          completions += 1
        }
        if (dut.io.step.last.toBoolean && !dut.io.step.head.toBoolean) arriving = None
      }
      before = visit
    }
  }

  for (straddle <- Seq(true, false); share <- Seq(0.0, 0.3))
    test(
      s"no probe within its own completion, straddle $straddle, $share of the beats late, " +
        s"seed ${Seed.value}"
    ) {
      compiled.doSim(s"straddle $straddle, pauses $share", Seed.value) { dut =>
        val random = new Random(Seed.value)
        val pins   = new RcPins(dut.io.rc, straddle, () => random.nextDouble() < share)
        val watch  = new Watch(dut)
        dut.io.rc.valid #= false
        dut.io.probe.valid #= false
        dut.clockDomain.forkStimulus(10)
        dut.clockDomain.waitSampling(5)
        for (_ <- 0 until 20000) {
          dut.clockDomain.waitSampling()
          watch.cycle()
          pins.cycle(_ => Option.when(random.nextInt(4) > 0)(completion(random)))
          // Most probes have the tag of the completion whose beats pass now. They are the most
          // dangerous ones.
          val worst = watch.arriving.filter(_ => random.nextInt(3) > 0)
          val tag   = if (worst.isDefined) worst.get else random.nextInt(tagCount)
          dut.io.probe.valid #= random.nextInt(4) > 0
          dut.io.probe.payload #= tag
        }
        assert(watch.completions > 1500 && watch.probes > 1000 && watch.middles > 200)
        if (share > 0) assert(watch.pauses > 100, s"${watch.pauses} probes in pauses")
      }
    }

  test(s"no completion waits for a probe of its own tag, seed ${Seed.value}") {
    compiled.doSim("probes", Seed.value) { dut =>
      val random = new Random(Seed.value)
      val pins   = new RcPins(dut.io.rc, straddle = true)
      dut.io.rc.valid #= false
      dut.io.probe.valid #= false
      dut.clockDomain.forkStimulus(10)
      dut.clockDomain.waitSampling(5)
      var probes = 0

      /** Runs a cycle. Returns whether the unpacker passed on a part of a completion in this cycle.
        */
      def cycle(): Boolean = {
        dut.clockDomain.waitSampling()
        if (dut.io.visit.valid.toBoolean && dut.io.visit.probe.toBoolean) probes += 1
        pins.cycle { _ =>
          val payload = Seq.fill(64)(random.nextInt())
          Some(RcCompletion(random.nextInt(tagCount), 0, 256, 64, payload, done = true))
        }
        dut.io.probe.valid #= true
        dut.io.probe.payload #= random.nextInt(tagCount)
        dut.io.step.valid.toBoolean
      }
      for (_ <- 0 until 20) cycle()
      val pauses = (0 until 20000).count(_ => !cycle())
      assert(pauses == 0, s"$pauses cycles without a step, of beats that never pause")
      assert(probes > 2000, s"$probes probes")
    }
  }
}
