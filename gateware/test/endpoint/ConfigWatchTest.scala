// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.endpoint

import org.scalatest.funsuite.AnyFunSuite
import scala.language.reflectiveCalls
import spinal.core.sim._

import lanebox.vocabulary.{LaneboxSim, Seed}

/** Tests that ConfigWatch reads Device Control through the hard block's management port again and
  * again. Its output `extendedTags` follows the bit Extended Tag Field Enable, and is low until the
  * first read.
  */
class ConfigWatchTest extends AnyFunSuite {
  val period = 64

  test(s"the watch follows Device Control, seed ${Seed.value}") {
    LaneboxSim(ConfigWatch(period)).doSim("watch", Seed.value) { dut =>
      dut.clockDomain.forkStimulus(10)
      val port    = dut.io.management
      var control = 0L
      // Cycles until the hard block answers a configuration read; `read` must stay high until then.
      var left  = 0
      var asked = 0
      port.done #= false
      dut.clockDomain.onSamplings {
        if (port.done.toBoolean || left == 0) {
          port.done #= false
          left = if (port.read.toBoolean && !port.done.toBoolean) 1 + simRandom.nextInt(20) else 0
          if (left > 0) asked += 1
        }
        if (left > 0) {
          assert(port.read.toBoolean && port.address.toInt == 0x78 / 4, "the strobe was not held")
          left -= 1
          port.done #= left == 0
          port.readData #= (if (left == 0) control else simRandom.nextInt() & 0xffffffffL)
        }
      }
      // In simulation the card's registers have random values before the reset.
      dut.clockDomain.waitSampling()
      assert(!dut.io.extendedTags.toBoolean)
      for (_ <- 0 until 50) {
        val tags = simRandom.nextBoolean()
        control = (simRandom.nextInt() & 0xfffffeffL) | (if (tags) 1 << 8 else 0)
        dut.clockDomain.waitSampling(2 * period + 50)
        assert(dut.io.extendedTags.toBoolean == tags)
      }
      assert(asked > 50)
    }
  }
}
