// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.completer

import org.scalatest.funsuite.AnyFunSuite
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.vocabulary.{LaneboxSim, Seed}

/** Tests that NonPostedCredits neither loses nor creates a non-posted credit. One test does every
  * step from every reachable state, and the other takes a long random walk.
  */
class NonPostedCreditsTest extends AnyFunSuite {
  lazy val compiled = LaneboxSim(NonPostedCredits())

  /** Starts the clock, and waits until all 32 credits are lent to the host. In simulation a
    * register has a random value before the reset, so `lent` means nothing before then.
    */
  def lendAll(dut: NonPostedCredits): Unit = {
    dut.io.limit #= 32
    dut.io.returned #= false
    dut.clockDomain.forkStimulus(10)
    dut.clockDomain.waitSampling(100)
    assert(dut.io.lent.toInt == 32, "not all credits were lent after the reset")
  }

  test("from every number lent, towards every limit, with and without a return") {
    compiled.doSim("everystep", Seed.value) { dut =>
      lendAll(dut)
      var granted  = 32
      var returned = 0
      def step(returns: Boolean): Unit = {
        dut.io.returned #= returns
        dut.clockDomain.waitSampling()
        if (returns) returned += 1
        if (dut.io.grant.toBoolean) granted += 1
      }
      def settle(): Unit = {
        dut.io.returned #= false
        for (_ <- 0 until 3) step(false)
      }

      for (from <- 32 to 1 by -1) {
        dut.io.limit #= from
        settle()
        while (granted - returned > from) step(true)
        settle()
        for (limit <- 1 to 32; returns <- Seq(false, true)) {
          // The limit changes from `from` to `limit` for two cycles, while `from` credits are lent
          // to the host.
          dut.io.limit #= limit
          step(false)
          step(returns)
          dut.io.limit #= from
          step(false)
          step(false)
          // In these two cycles no more credits may have been granted than the larger of the two
          // limits allows.
          val lent = granted - returned
          assert(lent <= (limit max from), s"$lent credits lent, from $from with limit $limit")
          settle()
          assert(dut.io.lent.toInt == granted - returned, "lent must be granted less returned")
          while (granted - returned > from) step(true)
          settle()
          assert(granted - returned == from, s"not $from credits lent in the end, via limit $limit")
        }
      }
    }
  }

  test(s"a random walk of limits and returns, seed ${Seed.value}") {
    compiled.doSim("walk", Seed.value) { dut =>
      val random = new Random(Seed.value)
      lendAll(dut)
      var lent = 32
      // The limits of the last cycles. NonPostedCredits obeys a new limit two cycles later, so each
      // grant is checked against the highest of these limits.
      var limits = Seq(32, 32, 32)
      def step(limit: Int, returns: Boolean): Unit = {
        dut.io.limit #= limit
        dut.io.returned #= returns
        limits = (limits :+ limit).takeRight(4)
        dut.clockDomain.waitSampling()
        if (returns) lent -= 1
        if (dut.io.grant.toBoolean) lent += 1
        val most = limits.map(l => if (l == 0) 1 else l min 32).max
        assert(
          !dut.io.grant.toBoolean || lent <= most,
          s"a grant makes $lent lent, the limits were $limits"
        )
      }
      var limit = 32
      for (_ <- 0 until 20000) {
        if (random.nextInt(20) == 0) limit = random.nextInt(64)
        step(limit, returns = lent > 0 && random.nextInt(3) > 0)
      }
      for (_ <- 0 until 40) step(32, returns = false)
      assert(lent == 32 && dut.io.lent.toInt == 32, "credits were lost or created")
    }
  }
}
