// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.accounts

import org.scalatest.funsuite.AnyFunSuite
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.capture.queues.DiscardAccounts
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
      dut.clockDomain.waitSamplingWhere(200)(!dut.io.busy.toBoolean)

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
      for (_ <- 0 until 5) cycle()
      // A snapshot during a clear does not end it.
      assert(copy().forall(_ == ((0L, 0L))))
      for (_ <- 0 until 200) cycle()
      assert(copy().forall(_ == ((0L, 0L))))
    }
  }

  test(s"no frame of four queues waits for a snapshot of one moment, seed ${Seed.value}") {
    LaneboxSim(Accounts(queueWidth = 2)).doSim("queues", Seed.value) { dut =>
      val r     = new Random(Seed.value)
      val fates = dut.io.fates
      val sums  = Array.fill(4 * Accounts.Entries)(0L)
      for (input <- Seq(fates.valid, dut.io.snapshot)) input #= false
      dut.io.clear #= true
      dut.io.queue #= 0
      dut.io.index #= 0
      dut.clockDomain.forkStimulus(10)
      dut.clockDomain.waitSampling(2)
      dut.io.clear #= false
      dut.clockDomain.waitSampling(600)

      def check(sums: Seq[Long]): Unit = for ((sum, entry) <- sums.zipWithIndex) {
        dut.io.queue #= entry / Accounts.Entries
        dut.io.index #= entry % Accounts.Entries
        dut.clockDomain.waitSampling(3)
        val account = dut.io.account
        assert(account.frames.toBigInt == sum && account.bytes.toBigInt == 60 * sum, s"$entry")
      }

      // MbufPlacer has a fate in each third cycle at the most. No fate comes in the 30 cycles
      // before the snapshot, so all earlier fates have been counted when it begins.
      var before = Seq[Long]()
      for (cycle <- 0 until 3000) {
        dut.io.snapshot #= cycle == 600
        val comes = cycle % 3 == 0 && (cycle < 570 || cycle >= 600)
        fates.valid #= comes
        if (cycle == 600) before = sums.toSeq
        if (comes) {
          val entry = r.nextInt(sums.size)
          fates.payload.queue #= entry / Accounts.Entries
          fates.port #= entry / 4 % Frames.Ports
          fates.fate #= Accounts.Fate.elements(entry % 4)
          fates.bytes #= 60
          sums(entry) += 1
        }
        dut.clockDomain.waitSampling()
        if (cycle == 700) assert(dut.io.busy.toBoolean, "no snapshot is copied")
        if (comes) assert(fates.ready.toBoolean, s"a frame waits in cycle $cycle")
      }
      fates.valid #= false
      dut.clockDomain.waitSampling(1000)
      check(before)
      dut.io.snapshot #= true
      dut.clockDomain.waitSampling()
      dut.io.snapshot #= false
      dut.clockDomain.waitSampling(300)
      check(sums.toSeq)
    }
  }

  test("a snapshot in any cycle has a discarded frame in both accounts or in none") {
    LaneboxSim(DiscardAccounts()).doSim("both", Seed.value) { dut =>
      val discards = dut.io.discards
      for (input <- Seq(discards.valid, dut.io.snapshot)) input #= false
      discards.rule #= 15
      discards.port #= 15
      discards.bytes #= 60
      dut.io.clear #= true
      dut.io.index #= 0
      dut.clockDomain.forkStimulus(10)
      dut.clockDomain.waitSampling(2)
      dut.io.clear #= false
      dut.clockDomain.waitSampling(200)
      def frames(index: Int): BigInt = {
        dut.io.index #= index
        dut.clockDomain.waitSampling(3)
        dut.io.account.frames.toBigInt
      }
      // A walk over the accounts begins with the last one, that of port 15.
      var late = 0
      for (delay <- 0 until 12) {
        discards.valid #= true
        dut.clockDomain.waitSampling()
        discards.valid #= false
        dut.clockDomain.waitSampling(delay)
        dut.io.snapshot #= true
        dut.clockDomain.waitSampling()
        dut.io.snapshot #= false
        dut.clockDomain.waitSampling(100)
        val (rule, port) = (frames(15), frames(31))
        assert(rule == port, s"$delay cycles behind the frame")
        assert(rule == delay || rule == delay + 1)
        if (rule == delay) late += 1
      }
      assert(late > 0 && late < 12, s"the frame was late in $late snapshots")
    }
  }
}
