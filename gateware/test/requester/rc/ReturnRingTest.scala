// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rc

import org.scalatest.funsuite.AnyFunSuite
import spinal.core.sim._

import lanebox.vocabulary.Seed

/** Tests that no data is lost if a client takes no data. Such a client fills its ring (its part of
  * the landing memory) or uses up the numbers for its reads.
  */
class ReturnRingTest extends AnyFunSuite {
  val timing = HostTiming(latency = _ => 60, mps = 512, inOrder = true)

  /** Lets client 0 make `count` requests, which are `reads` read TLPs in all, and waits until the
    * host has answered all. The client takes no data.
    */
  def fill(bench: ReturnBench, count: Int, reads: Int)(request: => Option[TestRequest]): Unit = {
    var left = count
    bench.clients.takes(0) = 0
    bench.clients.request = client =>
      if (client == 0 && left > 0) { left -= 1; request }
      else None
    val before = bench.clients.claimed
    bench.until("reads to be answered") {
      bench.clients.claimed == before + reads && bench.host.reads.isEmpty && !bench.host.pending
    }
  }

  test(s"a burst of claims fills the ring and does not overrun it, seed ${Seed.value}") {
    val rounds = 8
    ReturnBench("burst", ReturnRun(Seed.value, timing)) { bench =>
      val ring = bench.dut.p.rows
      var most = 0
      for (_ <- 0 until rounds) {
        // The client's ring is first filled by half. Then all tags are free, so the reads that fill
        // the other half are announced one in each cycle.
        val half = 64 + bench.random.nextInt(40)
        fill(bench, half, half)(bench.aligned(512))
        // Reads of one row (32 bytes) shift the ring's fill, so that `room` does not always fall at
        // the same row of a large read.
        val small = 1 + bench.random.nextInt(7)
        fill(bench, small, small)(bench.aligned(32))
        val reads = 121 + bench.random.nextInt(8)
        bench.clients.request = client => {
          val at = bench.random.nextInt(ReturnHost.Dwords / 128) * 512
          Option.when(client == 0)(TestRequest(at, reads, 15, 15, 0))
        }
        val claimed = bench.clients.claimed
        bench.cycles(1500)
        val end  = bench.dut.claims.io.ends(0).dword.toInt / 8
        val rows = (end - bench.dut.delivery.readers(0).row.toInt) & ring - 1
        most = most max rows
        assert(bench.clients.claimed > claimed && !bench.dut.io.room(0).toBoolean)
        assert(rows > ring - 128, s"$rows rows are in use")
        // finish() compares all data, so it fails if data in the ring was overwritten.
        bench.finish()
      }
      info(s"$most of $ring rows")
    }
  }

  test(s"a client that takes none of its small reads has as many as there are numbers, " +
    s"seed ${Seed.value}") {
    // The numbers that the card gives to a client's reads wrap after two rounds.
    val rounds = 3
    ReturnBench("numbers", ReturnRun(Seed.value, timing)) { bench =>
      for (_ <- 0 until rounds) {
        bench.clients.takes(0) = 0
        val before = bench.clients.requests(0)
        bench.clients.request = client => if (client == 0) bench.anyRequest(1) else None
        bench.cycles(4000)
        val reads = bench.clients.requests(0) - before
        // Beats that may be in the client's FIFO behind the ring. Their reads no longer need a
        // number.
        val past = 40
        assert(reads > bench.dut.p.reads && reads <= bench.dut.p.reads + past, s"$reads reads")
        bench.finish()
      }
    }
  }

  test(s"the return path is not idle before the last beat was taken, seed ${Seed.value}") {
    ReturnBench("idle", ReturnRun(Seed.value, timing)) { bench =>
      for (dwords <- Seq(1, 8, 9, 300)) {
        fill(bench, 1, (dwords + 127) / 128)(Some(TestRequest(
          4096,
          dwords,
          15,
          if (dwords == 1) 0 else 15,
          0
        )))
        bench.cycles(100)
        for (_ <- 0 until (dwords + 7) / 8) {
          assert(!bench.dut.io.idle.toBoolean, s"idle before all $dwords dwords were taken")
          val taken = bench.clients.beats(0)
          bench.clients.takes(0) = 1
          bench.cycle()
          bench.clients.takes(0) = 0
          bench.cycles(60)
          assert(bench.clients.beats(0) == taken + 1)
        }
        bench.finish()
      }
    }
  }
}
