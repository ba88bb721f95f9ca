// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rc

import org.scalatest.funsuite.AnyFunSuite
import scala.language.reflectiveCalls
import spinal.core.sim._

import lanebox.vocabulary.{Clearing, ReadError, Seed}

/** Tests that in the return path a read that fails ends once and delivers its full length, as
  * zeros. Other reads are not affected.
  */
class ReturnErrorTest extends AnyFunSuite {
  // The card's timeout for a read, in cycles of 4 ns: 20 us.
  val timeout = 5000L

  def counted(bench: ReturnBench, faults: RandomFaults): Unit = {
    val counts = bench.dut.io.statistics
    for (
      (error, counter) <- Seq(
        ReadError.unsupported -> counts.unsupported,
        ReadError.aborted     -> counts.aborted,
        ReadError.poisoned    -> counts.poisoned,
        ReadError.timeout     -> counts.timeouts,
        ReadError.malformed   -> counts.malformed,
        ReadError.cut         -> counts.cut
      )
    ) assert(counter.toLong == faults.reads(error), s"reads that ended with $error")
    assert(counts.unexpected.toLong == faults.unexpected, "unexpected completions")
    assert(counts.duplicates.toLong == faults.duplicates, "duplicates")
    assert(counts.late.toLong == faults.late, "late completions")
    assert(faults.kinds.length == faults.all, s"only these faults struck: ${faults.kinds}")
  }

  for ((name, straddle, rcb) <- Seq(("straddle", true, 64), ("no straddle", false, 128)))
    test(s"every fault at random, $name, seed ${Seed.value}") {
      val run = ReturnRun(
        Seed.value,
        HostTiming(rcb = rcb, latency = 20L + _.nextInt(200), gap = 0.05),
        straddle,
        mrrs = 256
      )
      ReturnBench("faults", run) { bench =>
        val faults = new RandomFaults(bench.random, 0.2)
        bench.host.faults = faults
        for (client <- 0 to 1) bench.clients.takes(client) = 0.9
        bench.clients.request = _ =>
          bench.anyRequest(Seq(1, 16, 128, 1024)(bench.random.nextInt(4)))
        bench.until("faulty reads")(bench.host.shown >= 20000)
        bench.finish()
        counted(bench, faults)
        info(s"${bench.host.shown} completions, failed reads ${faults.reads.values.sum}")
      }
    }

  test(s"lost and late completions, timeout $timeout, seed ${Seed.value}") {
    val run = ReturnRun(
      Seed.value,
      HostTiming(latency = 20L + _.nextInt(200), gap = 0.05),
      mrrs = 256,
      timeoutCycles = timeout
    )
    ReturnBench("lost", run) { bench =>
      val faults = new RandomFaults(bench.random, 0.02, timeout)
      bench.host.faults = faults
      bench.clients.request = _ => bench.anyRequest(Seq(16, 128, 300)(bench.random.nextInt(3)))
      bench.until("lossy reads", 20 * timeout)(faults.reads.values.sum >= 150)
      bench.finish(3 * timeout)
      counted(bench, faults)
    }
  }

  test(s"clear sets every counter to zero, seed ${Seed.value}") {
    val run = ReturnRun(
      Seed.value,
      HostTiming(latency = 20L + _.nextInt(200)),
      mrrs = 256,
      timeoutCycles = timeout
    )
    ReturnBench("clear", run) { bench =>
      val answered = new RandomFaults(bench.random, 0.2)
      val lost     = new RandomFaults(bench.random, 0.02, timeout)
      bench.host.faults = new Faults {
        def strike(read: HostRead, pieces: Seq[RcCompletion], host: ReturnHost) =
          (if (bench.random.nextBoolean()) answered else lost).strike(read, pieces, host)
      }
      bench.clients.request = _ => bench.anyRequest(Seq(16, 128, 300)(bench.random.nextInt(3)))
      val counters = bench.dut.io.statistics
      // The card never holds RC off, so `backPressure` stays 0.
      val never = Set("backPressure")
      // Before the reset the card's counters may have any value. So the test waits until the host
      // has sent a completion.
      bench.until("counts of all kinds", 40 * timeout) {
        bench.host.shown > 0 && Clearing.zeros(counters).forall(never)
      }
      bench.finish(3 * timeout)
      Clearing.check(counters, bench.dut.io.clear, bench.dut.clockDomain, never)
      bench.clients.request = _ => bench.anyRequest(16)
      bench.host.faults = new RandomFaults(bench.random, 1)
      val busy = Set("unsupported", "unexpected")
      Clearing.underLoad(counters, bench.dut.io.clear, bench.random, busy) {
        bench.cycle()
      }
    }
  }

  test(s"a lost read ends after one to one and a quarter timeouts, seed ${Seed.value}") {
    ReturnBench("timeout", ReturnRun(Seed.value, timeoutCycles = timeout)) { bench =>
      for (_ <- 0 until 12) {
        bench.cycles(bench.random.nextInt(1000))
        bench.host.faults = new RandomFaults(bench.random, 1, timeout) {
          override def strike(read: HostRead, pieces: Seq[RcCompletion], host: ReturnHost) = {
            read.claim.errors += ReadError.timeout
            host.expire(read, timeout * 5 / 2)
            Nil
          }
        }
        var asked = false
        bench.clients.request = client =>
          if (client == 0 && !asked) { asked = true; bench.aligned(256) }
          else None
        val claims = bench.clients.claimed
        val beats  = bench.clients.beats(0)
        bench.until("the claim")(bench.clients.claimed > claims)
        val claimed = bench.now
        bench.until("the error")(bench.clients.beats(0) > beats)
        val took = bench.now - claimed
        assert(took >= timeout && took <= timeout * 5 / 4, s"$took cycles, not $timeout")
      }
      bench.finish(3 * timeout)
    }
  }
}
