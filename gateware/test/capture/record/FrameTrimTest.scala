// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.record

import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.capture.{FrameDriver, TestFrame}
import lanebox.vocabulary.{LaneboxSim, Seed}

/** Tests FrameTrim, the first stage of the capture block. It passes the frames that begin while
  * `run` is set, each cut to the bytes that are to be kept, and drops all others.
  */
class FrameTrimTest extends AnyFunSuite {
  lazy val compiled = LaneboxSim(FrameTrim())

  for ((snap, keepBad, mbufLog2) <- Seq((0, false, 12), (100, true, 16), (32, false, 22)))
    test(s"frames cut to $snap bytes, bad ones kept: $keepBad, seed ${Seed.value}") {
      compiled.doSim(s"$snap$keepBad", Seed.value) { dut =>
        val r                    = new Random(Seed.value)
        val heads                = mutable.Queue[TestFrame]()
        val data                 = mutable.Queue[IndexedSeq[Byte]]()
        var frames, skipped, run = 0
        var offered              = 0L
        val driver = new FrameDriver(dut.io.frames, r)({
          offered += 1
          Option.when(offered <= 500)(TestFrame.random(r, offered, 5000, bad = 20))
        })
        val largest = if (mbufLog2 > 14) 16383 else (1 << mbufLog2) - 128
        def kept(frame: TestFrame) =
          Seq(frame.data.size, largest, if (snap == 0) largest else snap).min
        driver.begun = frame =>
          if (run == 0) skipped += 1
          else {
            heads += frame
            if (keepBad || !frame.error) data ++= frame.data.take(kept(frame)).grouped(32)
          }
        dut.io.snap #= snap
        dut.io.keepBad #= keepBad
        dut.io.mbufLog2 #= mbufLog2
        dut.io.run #= false
        dut.io.frames.valid #= false
        dut.io.heads.ready #= false
        dut.io.data.ready #= false
        dut.clockDomain.forkStimulus(10)
        dut.clockDomain.waitSampling(5)
        var quiet = 0
        while (quiet < 100) {
          dut.clockDomain.waitSampling()
          driver.cycle()
          quiet = if (driver.idle) quiet + 1 else 0
          if (dut.io.heads.valid.toBoolean && dut.io.heads.ready.toBoolean) {
            val frame = heads.dequeue()
            val head  = dut.io.heads.head
            assert(head.time.toBigInt == frame.time && head.port.toInt == frame.port)
            assert(head.original.toInt == frame.original && head.flags.toLong == frame.flags)
            val bad = frame.error && !keepBad
            assert(dut.io.heads.bad.toBoolean == bad && head.kept.toInt == kept(frame))
            frames += 1
          }
          if (dut.io.data.valid.toBoolean && dut.io.data.ready.toBoolean) {
            val want = data.dequeue()
            assert(TestFrame.bytes(dut.io.data.payload.toBigInt, want.size) == want)
          }
          dut.io.heads.ready #= r.nextInt(3) > 0
          dut.io.data.ready #= r.nextInt(10) > 0
          if (r.nextInt(200) == 0) run = 1 - run
          dut.io.run #= run == 1
        }
        assert(heads.isEmpty && data.isEmpty, s"${heads.size} heads and ${data.size} beats missing")
        dut.clockDomain.waitSampling(5)
        assert(!dut.io.busy.toBoolean && frames > 100 && skipped > 100, s"$frames, $skipped")
      }
    }
}
