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

/** Tests that RingSegments gives the ring's cells (4 KiB each) their places in host memory: segment
  * by segment, in order, and from the first segment again after the last.
  */
class RingSegmentsTest extends AnyFunSuite {
  val param         = CaptureParam(segments = 16)
  lazy val compiled = LaneboxSim(RingSegments(param))

  for ((count, log2) <- Seq((1, 12), (5, 12), (16, 14), (3, 16), (2, 30)))
    test(s"$count segments of 2^$log2 bytes, seed ${Seed.value}") {
      compiled.doSim(s"$count,$log2", Seed.value) { dut =>
        val r     = new Random(Seed.value)
        val pages = Seq.fill(count)(BigInt(52, r) >> 1)
        dut.io.segmentLog2 #= log2
        dut.io.lastSegment #= count - 1
        dut.io.clear #= false
        dut.io.advance #= false
        dut.io.changes #= false
        dut.io.segment.valid #= false
        dut.clockDomain.forkStimulus(10)
        dut.clockDomain.waitSampling(5)
        for ((page, index) <- pages.zipWithIndex) {
          dut.io.segment.valid #= true
          dut.io.segment.index #= index
          dut.io.segment.page #= page
          dut.clockDomain.waitSampling()
        }
        dut.io.segment.valid #= false
        val cells = 1 << (log2 - 12)
        for (_ <- 0 until 3) {
          dut.io.clear #= true
          dut.clockDomain.waitSampling()
          dut.io.clear #= false
          for (cell <- 0 until (3 * count * cells + 1 min 400)) {
            dut.clockDomain.waitSampling()
            assert(!dut.io.valid.toBoolean, "valid in the cycle behind the step")
            val late = dut.clockDomain.waitSamplingWhere(5)(dut.io.valid.toBoolean)
            assert(!late, s"cell $cell is not valid within five cycles")
            val want = pages(cell / cells % count) + cell % cells
            assert(dut.io.page.toBigInt == want, s"cell $cell")
            dut.clockDomain.waitSampling(r.nextInt(3))
            assert(dut.io.valid.toBoolean && dut.io.page.toBigInt == want, s"cell $cell later")
            dut.io.advance #= true
            dut.clockDomain.waitSampling()
            dut.io.advance #= false
          }
        }
      }
    }
}
