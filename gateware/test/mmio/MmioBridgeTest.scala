// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.mmio

import org.scalatest.funsuite.AnyFunSuite
import spinal.core.sim._

import lanebox.vocabulary.Seed

/** Tests that reads through the MMIO bridge return the bytes that were written, in completions that
  * follow PCIe's rules. AxiReader, AxiWriter, CompletionBuilder and WishboneTarget have no suites
  * of their own: they are tested here.
  */
class MmioBridgeTest extends AnyFunSuite {
  val fast = MmioDut.parameters.memories.map(_.name)
  val all  = fast ++ Seq("wishbone", "axi")

  def stalls(bench: MmioBench, share: Double): Unit = {
    import bench._
    def now = random.nextDouble() < share
    host.requestGap = () => if (now) random.nextInt(6) else 0
    host.completionReady = () => !now
    wishbone.delay = () => if (now) random.nextInt(5) else 0
    wishbone.atOnce(random.nextBoolean())
    axi.latency = () => if (now) random.nextInt(60) else 0
    axi.arReady = () => !now
    axi.awReady = () => !now
    axi.wReady = () => !now
    axi.bubble = () => random.nextDouble() < share / 2
  }

  for (code <- 0 to 3; ordered <- Seq(false, true)) test(
    s"random requests, MPS ${128 << code}, strict $ordered, seed ${Seed.value}"
  ) {
    MmioBench("random", Seed.value + 10 * code + (if (ordered) 5 else 0)) { bench =>
      import bench._
      maxPayload(code)
      strict(ordered)
      for (round <- 0 until 6) {
        stalls(bench, Seq(0.0, 0.3, 0.7)(round % 3))
        host.creditDelay = random.nextInt(12)
        val targets = if (round < 3) all else Seq(all(random.nextInt(all.size)), "bram0")
        for (_ <- 0 until 500) {
          val write = random.nextBoolean()
          val near  = random.nextInt(3) > 0
          val long  = random.nextInt(4) == 0
          val most  = if (write) (128 << code) min 1024 else if (long) 4096 else 256
          host.waiting += any(targets, write, most, near)
        }
        settle()
      }
      assert(host.completed > 1000, s"only ${host.completed} reads")
      // The models of the Wishbone and AXI slaves hold what the host wrote, and no other byte has
      // changed.
      for ((name, bytes) <- Seq("wishbone" -> wishbone.bytes, "axi" -> axi.bytes))
        assert(host.targets(name).bytes.sameElements(bytes), s"$name is not as written")
      assert(host.refused > 0 && dut.io.statistics.writesRefused.toLong == host.refused)
    }
  }

  test(s"every offset in a row and every size, seed ${Seed.value}") {
    MmioBench("sizes", Seed.value) { bench =>
      import bench._
      maxPayload(1)
      val sizes = (1 to 40) ++ Seq(63, 64, 65, 127, 128, 129, 255, 256)
      for (target <- Seq("bram0", "uram"); offset <- 0 until 32; size <- sizes) {
        val (bar, base) = page(Seq(target))
        val at          = base + 32 * random.nextInt(60) + 96 + offset
        host.waiting += write(bar, at, size)
        host.waiting += read(bar, at - 4, size + 8)
      }
      for (offset <- 0 until 132; size <- Seq(1, 128, 511, 512, 1024, 4096 - 132))
        host.waiting += read(2, offset, size)
      settle()
    }
  }

  /** Returns all byte enables (first, last) that PCIe allows for a request of `dwords` dwords at
    * byte address `address`.
    */
  def enables(dwords: Int, address: Int): Seq[(Int, Int)] = {
    val (firsts, lasts) = (Seq(15, 14, 12, 8), Seq(15, 7, 3, 1))
    val holes           = dwords == 2 && address % 8 == 0
    if (dwords == 1) (0 to 15).map((_, 0))
    else
      for (
        first <- if (holes) 1 to 15 else firsts;
        last  <- if (holes) 1 to 15 else lasts
      ) yield (first, last)
  }

  for (code <- 0 to 2) test(
    s"every byte enable at every dword offset, MPS ${128 << code}, seed ${Seed.value}"
  ) {
    MmioBench("enables", Seed.value + code) { bench =>
      import bench._
      maxPayload(code)
      for (target <- all if target != "identity"; dwords <- Seq(1, 2, 3, 8, 9, 32)) {
        stalls(bench, Seq(0.0, 0.4)(random.nextInt(2)))
        // The write starts in each of the eight lanes of a memory row (32 bytes). If it is long
        // enough, it crosses the end of the row, at an address at which completions may be cut.
        for (lane <- 0 until 8; (first, last) <- enables(dwords, 4 * lane)) {
          val (bar, base) = page(Seq(target))
          val at          = base + 128 * (1 + random.nextInt(20)) + 96 + 4 * lane
          val what        = write(bar, at, 4 * dwords)
          host.waiting += what.copy(firstBe = first, lastBe = last)
          host.waiting += read(bar, at, 4 * dwords).copy(firstBe = first, lastBe = last)
          host.waiting += read(bar, at - 8, 4 * dwords + 16)
        }
        settle()
      }
      for ((name, bytes) <- Seq("wishbone" -> wishbone.bytes, "axi" -> axi.bytes))
        assert(host.targets(name).bytes.sameElements(bytes), s"$name is not as written")
      assert(host.refused > 0 && dut.io.statistics.writesRefused.toLong == host.refused)
    }
  }

  test(s"a new maximum payload waits until no read is inside, seed ${Seed.value}") {
    MmioBench("payload", Seed.value) { bench =>
      import bench._
      for (round <- 0 until 30) {
        val (now, next) = (round % 3, (round + 1 + round / 3 % 2) % 3)
        maxPayload(now)
        // The reads are so long that the bridge still answers the first ones when it takes the last
        // one.
        for (target <- random.shuffle(all); _ <- 0 until 3) {
          val (bar, base) = page(Seq(target))
          host.waiting += read(bar, base + 4 * random.nextInt(32), 2048)
        }
        until(1000, "the first answers")(host.reads.size > 8)
        cycles(random.nextInt(60))
        assert(host.reads.nonEmpty)
        // The model of the host still expects completions cut by the old MPS.
        dut.io.maxPayload #= next
        settle()
      }
    }
  }

  test(s"a read sees the write in front of it, one cycle apart, seed ${Seed.value}") {
    MmioBench("raw", Seed.value) { bench =>
      import bench._
      // Writes are slow in this test. If a read did not wait for the write in front of it, it would
      // overtake the write and return old data.
      axi.latency = () => random.nextInt(40)
      wishbone.delay = () => random.nextInt(6)
      for (target <- all.filter(_ != "identity"); _ <- 0 until 60) {
        val (bar, base) = page(Seq(target))
        val at          = base + 4 * random.nextInt(900)
        host.waiting += write(bar, at, 4 * (1 + random.nextInt(8)))
        host.waiting += read(bar, at, 32)
        if (target != "bram0" && target != "bram1" || random.nextBoolean()) settle()
      }
      settle()
      assert(host.completed == 300)
    }
  }

  for (atOnce <- Seq(false, true)) test(
    s"requests of the bus keep their order any cycles apart, writes at once $atOnce, " +
      s"seed ${Seed.value}"
  ) {
    MmioBench("gaps", Seed.value) { bench =>
      import bench._
      wishbone.atOnce(atOnce)
      val (bar, base) = page(Seq("wishbone"))
      // The kinds of requests to the Wishbone bus: reads and writes of a whole dword, which the
      // bridge starts at once if the bus is idle, and others, which the bridge queues.
      val kinds = Seq[Int => HostRequest](
        write(bar, _, 4),
        write(bar, _, 2),
        write(bar, _, 12),
        read(bar, _, 4),
        read(bar, _, 12)
      )
      for (gap <- 0 to 8; delay <- 0 to 2; first <- kinds; second <- kinds) {
        host.requestGap = () => gap
        wishbone.delay = () => delay
        // Address of the last dword before a multiple of 128 bytes, where completions are cut. A
        // read of more than this dword has two completions.
        val at = base + 128 * (1 + random.nextInt(30)) - 4
        host.waiting ++= Seq(first(at), second(at), read(bar, at, 12))
        settle()
      }
      assert(host.targets("wishbone").bytes.sameElements(wishbone.bytes), "not as written")
    }
  }
}
