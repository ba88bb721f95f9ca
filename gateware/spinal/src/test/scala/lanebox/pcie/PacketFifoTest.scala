// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable
import spinal.core._
import spinal.core.sim._
import spinal.lib.sim.{StreamDriver, StreamMonitor, StreamReadyRandomizer}

import lanebox.{LaneboxSim, Seed}

/** A packet leaves whole or not at all, and nothing is lost or changed. */
class PacketFifoTest extends AnyFunSuite {
  val depth   = 16
  val packets = 2000

  def run(seed: Int): Unit =
    LaneboxSim(PacketFifo(Bits(32 bits), depth)).doSim("packets", seed) { dut =>
      dut.clockDomain.forkStimulus(10)
      val sent, got = mutable.Queue[(BigInt, Boolean)]()
      var left      = 0
      StreamDriver(dut.io.push, dut.clockDomain) { beat =>
        if (left == 0) left = 1 + simRandom.nextInt(depth)
        left -= 1
        beat.fragment.randomize()
        beat.last #= left == 0
        true
      }
      StreamMonitor(dut.io.push, dut.clockDomain)(p =>
        sent += ((p.fragment.toBigInt, p.last.toBoolean))
      )
      StreamMonitor(dut.io.pop, dut.clockDomain)(p =>
        got += ((p.fragment.toBigInt, p.last.toBoolean))
      )
      StreamReadyRandomizer(dut.io.pop, dut.clockDomain)
      var inside = false
      dut.clockDomain.onSamplings {
        val valid = dut.io.pop.valid.toBoolean
        assert(valid || !inside, "valid fell inside a packet")
        if (valid && dut.io.pop.ready.toBoolean) inside = !dut.io.pop.last.toBoolean
      }
      dut.clockDomain.waitSamplingWhere(got.count(_._2) == packets)
      assert(got.zip(sent).forall { case (a, b) => a == b }, "packets changed on their way")
    }

  test(s"packets leave whole, seed ${Seed.value}")(run(Seed.value))
}
