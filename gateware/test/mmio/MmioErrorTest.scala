// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.mmio

import org.scalatest.funsuite.AnyFunSuite
import spinal.core.sim._

import lanebox.vocabulary.{Clearing, Seed}

/** Tests that the MMIO bridge answers and counts each failed access once, and that later requests
  * are not affected.
  */
class MmioErrorTest extends AnyFunSuite {
  // Says how a slow target (AXI or Wishbone) answers at a byte address. Of each 16 blocks of 1 KiB,
  // blocks 5 and 9 answer with an error, block 7 never, block 11 too late, and the others well.
  def kindOf(address: Int) = (address >> 10) & 15 match {
    case 5 | 9 => Answer.error
    case 7     => Answer.lost
    case 11    => Answer.late
    case _     => Answer.good
  }
  // BAR and offset in bytes of the window of each slow target.
  val slow = Seq("wishbone" -> (0, 0), "axi" -> (2, 0x10000))

  def spoil(bench: MmioBench): Unit = {
    bench.wishbone.answer = kindOf
    bench.axi.answer = kindOf
    for ((name, _) <- slow) bench.host.targets(name).bad = kindOf(_) != Answer.good
  }

  for (ordered <- Seq(false, true)) test(
    s"reads that fail are aborted once, whatever is mixed with them, strict $ordered, " +
      s"seed ${Seed.value}"
  ) {
    MmioBench("aborts", Seed.value) { bench =>
      import bench._
      spoil(bench)
      strict(ordered)
      axi.latency = () => random.nextInt(40)
      for (round <- 0 until 4) {
        maxPayload(round)
        for (n <- 0 until 150) random.nextInt(6) match {
          case 0 =>
            val offset = 1024 * (if (random.nextInt(4) == 0) random.nextInt(16) else 9)
            host.waiting += read(0, offset + random.nextInt(200), 1 + random.nextInt(60))
          case 1 =>
            val page = 4096 * random.nextInt(4)
            host.waiting += read(2, 0x10000 + page + random.nextInt(3840), 1 + random.nextInt(250))
          case 2 =>
            val page = 4096 * random.nextInt(4)
            host.waiting += read(2, 0x10000 + page, 3000 + random.nextInt(1096))
          case 3 => host.waiting += write(2, 0x10000 + random.nextInt(900), 1 + random.nextInt(100))
          case 4 => host.waiting += write(0, random.nextInt(900), 1 + random.nextInt(100))
          case _ =>
            host.waiting += any(Seq("bram0", "uram"), random.nextBoolean(), 128, near = true)
        }
        settle(2000000)
      }
      assert(host.errors > 100)
      assert(dut.io.statistics.aborted.toLong == host.errors, "an abort was not counted once")
      println(s"${host.errors} aborts, ${dut.io.statistics.timeouts.toLong} timeouts, " +
        s"${host.completed} reads, ${host.cycle} cycles")
      // Late answers of failed accesses still come from the bus models while the bridge waits for
      // other answers. They must not affect any request.
      wishbone.answer = _ => Answer.good
      axi.answer = _ => Answer.good
      for ((name, _) <- slow) host.targets(name).bad = _ => false
      for (_         <- 0 until 300)
        host.waiting += any(Seq("axi", "wishbone"), random.nextBoolean(), 128, near = false)
      settle()
    }
  }

  test(s"writes that fail are counted once and change nothing else, seed ${Seed.value}") {
    MmioBench("writes", Seed.value) { bench =>
      import bench._
      spoil(bench)
      var failed, timeouts = 0
      for (n <- 0 until 40) {
        val (_, (bar, base)) = slow(random.nextInt(2))
        val page             = Seq(0, 5, 7, 9, 11)(n % 5)
        val request          = write(bar, base + 1024 * page + 4 * random.nextInt(200), 4)
        host.waiting += request
        host.waiting += read(2, 0, 32)
        settle(20000)
        kindOf(1024 * page) match {
          case Answer.good  =>
          case Answer.error => failed += 1
          case _            => failed += 1; timeouts += 1
        }
        cycles(4)
        assert(dut.io.statistics.writesFailed.toLong == failed, s"write $n")
        assert(dut.io.statistics.timeouts.toLong == timeouts, s"write $n")
        host.waiting += write(bar, base + 32 * n, 32)
        host.waiting += read(bar, base + 32 * n, 32)
        settle()
      }
      for ((name, bytes) <- Seq("wishbone" -> wishbone.bytes, "axi" -> axi.bytes))
        assert(host.targets(name).bytes.sameElements(bytes), s"$name is not as written")
    }
  }

  test(
    s"an answer in the last cycle counts for its write alone, and none is lost, seed ${Seed.value}"
  ) {
    MmioBench("last cycle", Seed.value) { bench =>
      import bench._
      val count = 4
      val failed = for (delay <- MmioDut.Timeout - 8 to MmioDut.Timeout + 4) yield {
        wishbone.delay = () => delay
        val before = dut.io.statistics.writesFailed.toLong
        val writes = Seq.tabulate(count)(n => write(0, 4 * n, 4))
        host.waiting ++= writes
        settle()
        val lost = dut.io.statistics.writesFailed.toLong - before
        val stored = writes.count { w =>
          wishbone.bytes.slice(w.offset, w.offset + 4).sameElements(w.data)
        }
        // In the cycle in which the bridge gives up an access, the Wishbone bus may still carry it
        // out. So a write that the bridge reports as lost may have been done.
        assert(
          (lost == 0 && stored == count) || lost == count,
          s"answers after $delay cycles: of $count writes $stored are done, $lost reported"
        )
        cycles(40)
        lost
      }
      // With a given delay of the bus's answers either all writes are in time or none is.
      assert(failed.sorted == failed && failed.toSet == Set(0, count), s"$failed")
    }
  }

  test(s"a write of some bytes of a dword of the bus is refused, seed ${Seed.value}") {
    MmioBench("partial", Seed.value) { bench =>
      import bench._
      val s       = dut.io.statistics
      var refused = 0
      for (lane <- 0 until 8; first <- 0 to 15) {
        val offset = 256 * first + 4 * lane
        host.waiting += write(0, offset, 4).copy(firstBe = first)
        host.waiting += read(0, offset, 4)
        settle()
        // The bridge skips a dword without any enabled byte and does not refuse it.
        if (first != 0 && first != 15) {
          refused += 1
          assert(s.lastError.kind.toEnum == MmioErrorKind.partial && s.lastError.write.toBoolean)
          assert(s.lastError.address.toLong == offset)
        }
        assert(s.writesRefused.toLong == refused, s"enables $first in lane $lane")
      }
      // The bridge refuses the write's first and last dword, of which only some bytes are enabled,
      // and writes the whole dwords between them.
      val before = wishbone.accesses
      host.waiting += write(0, 0x40, 40).copy(firstBe = 8, lastBe = 1)
      settle()
      assert(wishbone.accesses - before == 8 && s.writesRefused.toLong == refused + 2)
      assert(host.targets("wishbone").bytes.sameElements(wishbone.bytes))
      // The bridge does not count refused dwords as failed, dropped or timed out.
      assert(s.writesFailed.toLong + s.writesDropped.toLong + s.timeouts.toLong == 0)
    }
  }

  test(s"clear sets every counter to zero, seed ${Seed.value}") {
    MmioBench("clear", Seed.value) { bench =>
      import bench._
      spoil(bench)
      // Requests that cause a bus error, a bus timeout, a read of an unmapped address, a write to a
      // read-only memory, and a write of half a register.
      host.waiting += read(0, 5 * 1024, 4)
      host.waiting += write(0, 7 * 1024, 4)
      host.waiting += read(0, 0x11000, 4)
      host.waiting += write(0, 0x18000, 4)
      host.waiting += write(0, 0x40, 2)
      settle(20000)
      assert(dut.io.statistics.readsMax.toInt > 0)
      // The counts of the histograms may be zero in this test, since each register shows a single
      // bin.
      val bins = Set("latencyCount", "sizeCount")
      Clearing.check(dut.io.statistics, dut.io.clearStatistics, dut.clockDomain, rest = bins)
      assert(dut.io.statistics.readsMax.toInt == 0)
      assert(dut.io.statistics.lastError.kind.toEnum == MmioErrorKind.none)
      val busy = Set("reads", "writes", "completions")
      Clearing.underLoad(dut.io.statistics, dut.io.clearStatistics, random, busy) {
        if (host.waiting.size < 4)
          host.waiting += any(Seq("bram0", "uram"), random.nextBoolean(), 64, near = true)
        cycle()
      }
    }
  }

  test(
    s"accesses to unmapped addresses, and writes of read-only memory, seed ${Seed.value}"
  ) {
    MmioBench("unmapped", Seed.value) { bench =>
      import bench._
      val holes = Seq(
        (0, 0x11000),
        (0, 0x19000),
        (0, 0x20000),
        (2, 0x1000),
        (2, 0x20000),
        (1, 0),
        (4, 0x8000)
      )
      var reads, writes, kept = 0
      for (n <- 0 until 300) {
        val (bar, base) = holes(random.nextInt(holes.size))
        val offset      = base + random.nextInt(3000)
        val bytes       = 1 + random.nextInt(if (n % 3 == 0) 1000 else 100)
        random.nextInt(4) match {
          case 0 => host.waiting += read(bar, offset, bytes); reads += 1
          case 1 => host.waiting += write(bar, offset, bytes min 128); writes += 1
          case 2 =>
            host.waiting += write(0, 0x18000 + random.nextInt(3000), bytes min 128)
            kept += 1
          case _ => host.waiting += any(Seq("bram0", "identity"), false, 512, near = true)
        }
      }
      settle()
      assert(host.errors == reads)
      assert(dut.io.statistics.unsupported.toLong == reads)
      assert(dut.io.statistics.writesDropped.toLong == writes + kept)
      host.waiting += write(2, 0x1abc, 4)
      settle()
      assert(dut.io.statistics.lastError.address.toLong == 0x1abc)
      assert(dut.io.statistics.lastError.kind.toEnum == MmioErrorKind.unmappedWrite)
      host.waiting += write(0, 0x18aec, 4)
      settle()
      assert(dut.io.statistics.lastError.kind.toEnum == MmioErrorKind.readOnly)
      host.waiting += read(1, 0xfe0, 4)
      settle()
      assert(dut.io.statistics.lastError.kind.toEnum == MmioErrorKind.unmappedRead)
      assert(dut.io.statistics.lastError.address.toLong == 0xfe0)
    }
  }

  test(s"histograms and counters, seed ${Seed.value}") {
    MmioBench("statistics", Seed.value) { bench =>
      import bench._
      val expected = Array.fill(32)(0)
      for (_ <- 0 until 400) {
        val r = any(Seq("bram0", "uram", "identity"), random.nextBoolean(), 512, near = true)
        host.waiting += r
        expected((if (r.write) 16 else 0) + 31 - Integer.numberOfLeadingZeros(r.bytes)) += 1
      }
      settle()
      cycles(40)
      def bins(select: spinal.core.UInt, count: spinal.core.UInt) = for (n <- 0 until 32) yield {
        select #= n
        cycles(2)
        count.toLong
      }
      val s = dut.io.statistics
      assert(bins(dut.io.sizeSelect, s.sizeCount) == expected.map(_.toLong).toSeq)
      assert(bins(dut.io.latencySelect, s.latencyCount).sum == host.completed)
      assert(s.reads.toLong == host.completed && s.writes.toLong == host.writesTaken)
      assert(s.readsNow.toInt == 0 && s.readsMax.toInt > 4 && s.readsMax.toInt <= 32)
      dut.io.clearStatistics #= true
      cycle()
      dut.io.clearStatistics #= false
      cycles(40)
      assert(s.reads.toLong == 0 && bins(dut.io.sizeSelect, s.sizeCount).sum == 0)
      // A small read takes three cycles from its request to its last beat. The histogram counts it
      // in bin 3: there are two bins for each power of two, so three cycles are in bin 2 * 1 + 1.
      host.waiting += read(2, 0, 4)
      settle()
      val one = Seq.tabulate(32)(n => if (n == 3) 1L else 0L)
      assert(bins(dut.io.latencySelect, s.latencyCount) == one)
      assert(s.completions.toLong == 1)
    }
  }

  test(s"after stop requests that have begun end, and no other begins, seed ${Seed.value}") {
    MmioBench("stop", Seed.value) { bench =>
      import bench._
      for (_ <- 0 until 200)
        host.waiting += any(Seq("bram0", "axi", "wishbone"), random.nextBoolean(), 128, near = true)
      for (_ <- 0 until 5) {
        cycles(60 + random.nextInt(20))
        dut.io.stop #= true
        until(4000, "not idle")(dut.io.idle.toBoolean)
        val before = (dut.io.statistics.reads.toLong, dut.io.statistics.writes.toLong)
        cycles(50)
        assert((dut.io.statistics.reads.toLong, dut.io.statistics.writes.toLong) == before)
        assert(dut.io.idle.toBoolean)
        dut.io.stop #= false
      }
      settle()
    }
  }
}
