// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture

import org.scalatest.funsuite.AnyFunSuite
import scala.language.reflectiveCalls
import spinal.core.sim._

import lanebox.capture.vocabulary.CaptureParam
import lanebox.vocabulary.LaneboxSim

/** The capture block writes records as fast as the link takes them, or as fast as RecordBuilder can
  * make their beats.
  */
class CaptureRateTest extends AnyFunSuite {
  lazy val compiled = LaneboxSim(RateDut(CaptureParam(cells = 16, segments = 2)))

  /** Bytes of ring data, without status lines, that a Gen3 x8 link carries in a cycle of 4 ns, by
    * MPS. The values are those of wire() in sim/rows/limits.py.
    */
  val Link = Map(128 -> 26.1, 256 -> 28.4, 512 -> 29.6)

  /** Returns which part limits the rate of the capture block (RecordBuilder, the RQ interface or
    * the PCIe link), and that limit in bytes written to the ring in a cycle. `size`, the length of
    * a frame, and `mps` are in bytes.
    */
  def limit(size: Int, mps: Int): (String, Double) = {
    val record  = (32 + (size + 3) / 4 * 4 + 7) / 8 * 8
    val builder = record.toDouble / ((size + 31) / 32 + 1)
    // On RQ a write has a descriptor of half a beat, so it takes one beat more than its data. For
    // every four cells (16 KiB) the block also writes a status line, which takes two beats.
    val cell = 4096 / mps * (mps / 32 + 1)
    val rq   = 4 * 4096 / (4 * cell + 2.0)
    Seq("builder" -> builder, "RQ" -> rq, "link" -> Link(mps)).minBy(_._2)
  }

  for (mps <- Seq(128, 256, 512); size <- Seq(60, 65, 252, 1514)) {
    val (binds, most) = limit(size, mps)
    test(f"frames of ${size + 4} B, MPS $mps: $most%.1f B a cycle, $binds binds") {
      compiled.doSim(s"$size,$mps", 1) { dut =>
        val to = dut.io.settings
        for (flag <- Seq(to.run, to.keepBad, to.relaxed, dut.io.clear)) flag #= false
        to.newest #= true
        // The generator waits while the capture block takes no frame, so no frame is lost.
        to.lossless #= true
        to.snap #= 0
        to.patience #= 250
        to.mbufLog2 #= 20
        to.segmentLog2 #= 20
        to.lastSegment #= 1
        to.statusAddress #= 0
        dut.io.size #= size
        dut.io.maxPayload #= mps / 256
        dut.io.rq.ready #= true
        for (pin <- dut.io.sequence.numbers) pin.valid #= false
        dut.clockDomain.forkStimulus(10)
        dut.clockDomain.waitSampling(5)
        dut.io.clear #= true
        dut.clockDomain.waitSampling()
        dut.io.clear #= false
        dut.clockDomain.waitSampling(100)
        dut.io.settings.run #= true
        var now = 0
        def cycles(count: Int): Unit = for (_ <- 0 until count) {
          dut.clockDomain.waitSampling()
          now += 1
          // The test returns a TLP's sequence number when RQ has taken the TLP's last beat, as if
          // the hard block sent each TLP at once.
          val pin = dut.io.sequence.numbers(0)
          pin.valid #= dut.io.rq.valid.toBoolean && dut.io.rq.last.toBoolean
          pin.payload #= dut.io.rq.sequence.toInt
        }
        // `position`, the number of bytes written to the ring, moves in steps, with each status
        // line. So the rate is measured from one step to a later one.
        def position() = dut.io.position.toBigInt
        def step(): BigInt = {
          val before = position()
          while (position() == before) cycles(1)
          position()
        }
        cycles(3000)
        val before = step()
        val begin  = now
        cycles(12000)
        val rate = (step() - before).toDouble / (now - begin)
        info(f"$rate%.2f B a cycle, ${rate / most}%.4f of the limit")
        // No link is behind RQ in this test, so the measured rate may be above the limit of the
        // link.
        assert(rate >= 0.99 * most && (binds == "link" || rate <= 1.005 * most))
      }
    }
  }
}
