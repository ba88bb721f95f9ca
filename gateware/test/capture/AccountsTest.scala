// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture

import org.scalatest.funsuite.AnyFunSuite
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.vocabulary.{Frames, LaneboxSim, Seed}

/** Tests that Accounts, the capture block's counters by port and fate, counts the fate of every
  * frame exactly once. A snapshot shows all counts as they were at one moment.
  */
class AccountsTest extends AnyFunSuite {
  lazy val compiled = LaneboxSim(Accounts())

  test(s"snapshots under load, seed ${Seed.value}") {
    compiled.doSim("snapshots", Seed.value) { dut =>
      val r     = new Random(Seed.value)
      val sums  = Array.fill(Accounts.Entries)((0L, 0L))
      var taken = 0
      dut.io.fates.valid #= false
      dut.io.clear #= true
      dut.io.snapshot #= false
      dut.io.index #= 0
      dut.clockDomain.forkStimulus(10)
      dut.clockDomain.waitSampling(2)
      dut.io.clear #= false
      dut.clockDomain.waitSampling()
      dut.clockDomain.waitSamplingWhere(100)(!dut.io.busy.toBoolean)

      var share = 0.0
      def cycle(): Unit = {
        dut.clockDomain.waitSampling()
        val fates = dut.io.fates
        if (fates.valid.toBoolean && fates.ready.toBoolean) {
          val entry  = 4 * fates.port.toInt + fates.fate.toEnum.position
          val (n, b) = sums(entry)
          sums(entry) = (n + 1, b + fates.bytes.toInt)
          taken += 1
          fates.valid #= false
        }
        if (!fates.valid.toBoolean || fates.ready.toBoolean) {
          fates.valid #= r.nextDouble() < share
          fates.fate #= Accounts.Fate.elements(r.nextInt(4))
          fates.port #= r.nextInt(Frames.Ports)
          fates.bytes #= r.nextInt(1 << 16)
        }
      }
      def copy(): Seq[(Long, Long)] = {
        dut.io.snapshot #= true
        cycle()
        dut.io.snapshot #= false
        cycle()
        while (dut.io.busy.toBoolean) cycle()
        (0 until Accounts.Entries).map { index =>
          dut.io.index #= index
          cycle()
          cycle()
          (dut.io.account.frames.toBigInt.toLong, dut.io.account.bytes.toBigInt.toLong)
        }
      }
      for (load <- Seq(0.3, 1.0, 0.05, 1.0)) {
        share = load
        for (_ <- 0 until 1500) cycle()
        // Frames are still counted while a snapshot is copied. The snapshot is older than the
        // test's own sums, which are read after the copy, so no count in it is above its sum.
        val before = taken
        val seen   = copy()
        assert(seen.zip(sums).forall { case (a, b) => a._1 <= b._1 && a._2 <= b._2 })
        assert((seen.map(_._1).sum - before).abs < 20, "frames between the copy and the port")
        share = 0
        for (_ <- 0 until 100) cycle()
        assert(copy() == sums.toSeq)
      }
      assert(taken > 1500, s"$taken fates")
      dut.io.clear #= true
      cycle()
      dut.io.clear #= false
      for (_ <- 0 until 100) cycle()
      assert(copy().forall(_ == ((0L, 0L))))
    }
  }
}
