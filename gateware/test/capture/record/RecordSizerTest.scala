// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.record

import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable
import scala.language.reflectiveCalls
import spinal.core.sim._
import spinal.lib.sim.{StreamDriver, StreamMonitor, StreamReadyRandomizer}

import lanebox.vocabulary.{LaneboxSim, Seed}

/** Tests that RecordSizer tells the size of each frame's Enhanced Packet Block, with the option
  * epb_dropcount and without it, and that each frame leaves once and in order, however it is held.
  */
class RecordSizerTest extends AnyFunSuite {

  case class Sized(
      time: BigInt,
      bad: Boolean,
      flagged: Boolean,
      dwords: Int,
      plain: Int,
      drops: Int
  )

  /** Bytes of a block: 28 of header, the padded data, 8 of epb_flags, 12 of epb_dropcount, and 4 of
    * length. The block is padded to units of 8 bytes.
    */
  def units(kept: Int, flagged: Boolean, drops: Boolean): Int = {
    val data = (kept + 3) / 4 * 4
    (28 + data + (if (flagged) 8 else 0) + (if (drops) 12 else 0) + 4 + 7) / 8
  }

  test(s"each frame leaves once, with the size of its record, seed ${Seed.value}") {
    LaneboxSim(RecordSizer()).doSim("sizes", Seed.value) { dut =>
      val r        = new scala.util.Random(Seed.value)
      val expected = mutable.Queue[Sized]()
      var number   = 0
      var seen     = 0
      dut.clockDomain.forkStimulus(10)
      StreamDriver(dut.io.frame, dut.clockDomain) { frame =>
        frame.randomize()
        // All lengths up to 150, with flags and without, and longer ones.
        frame.head.kept #= (if (number < 300) 1 + number / 2 else 1 + r.nextInt(16383))
        frame.head.flags #= (if (number % 2 == 0) 0L else 1L << r.nextInt(32))
        number += 1
        true
      }
      StreamMonitor(dut.io.frame, dut.clockDomain) { frame =>
        val (kept, flagged) = (frame.head.kept.toInt, frame.head.flags.toLong != 0)
        val (plain, drops)  = (units(kept, flagged, false), units(kept, flagged, true))
        val time            = frame.head.time.toBigInt
        expected += Sized(time, frame.bad.toBoolean, flagged, (kept + 3) / 4, plain, drops)
      }
      StreamReadyRandomizer(dut.io.sized, dut.clockDomain)
      StreamMonitor(dut.io.sized, dut.clockDomain) { frame =>
        assert(dut.io.busy.toBoolean)
        val found = Sized(
          frame.head.time.toBigInt,
          frame.bad.toBoolean,
          frame.flagged.toBoolean,
          frame.dwords.toInt,
          frame.plain.toInt,
          frame.counting.toInt
        )
        assert(found == expected.dequeue(), s"frame $seen")
        seen += 1
      }
      dut.clockDomain.waitSamplingWhere(20000)(seen >= 2000)
      assert(seen >= 2000, s"$seen frames")
    }
  }
}
