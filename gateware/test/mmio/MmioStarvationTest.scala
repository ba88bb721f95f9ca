// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.mmio

import org.scalatest.funsuite.AnyFunSuite
import spinal.core.sim._

import lanebox.vocabulary.Seed

/** Tests that writes and reads of the MMIO bridge's other targets still go on while one target is
  * stuck, as PCIe requires.
  */
class MmioStarvationTest extends AnyFunSuite {

  test(s"reads stuck at AXI and Wishbone hold up no memory, seed ${Seed.value}") {
    MmioBench("stuck", Seed.value) { bench =>
      import bench._
      axi.arReady = () => false
      wishbone.answer = _ => Answer.lost
      for (n <- 0 until 30)
        host.waiting += (if (n % 2 == 0) read(2, 0x10000 + 64 * n, 64) else read(0, 64 * n, 4))
      cycles(80)
      assert(host.reads.size == 30)
      // 30 of the host's 32 possible reads are stuck, and two non-posted credits are left for reads
      // of memories. Writes to a memory still go on in every cycle.
      val from = host.offeredAt.size
      for (n <- 0 until 150) host.waiting += write(2, 64 * n % 4096, 64)
      cycles(310)
      assert(host.acceptedAt.last - host.offeredAt(from) + 1 == 300, "writes were held up")
      for (n <- 0 until 100) host.waiting += read(2, 64 * n % 4096, 64)
      cycles(100 / 2 * 9 + 50)
      assert(host.completed == 100 && host.reads.size == 30, "memory reads were held up")
      // All 32 reads of the host are now stuck at the AXI and Wishbone buses, so no credit is left.
      for (n <- 0 until 2) host.waiting += read(2, 0x10000, 4)
      cycles(10)
      assert(host.reads.size == 32)
      for (n <- 0 until 150) host.waiting += write(2, 64 * n % 4096, 64)
      cycles(310)
      assert(host.waiting.isEmpty && host.reads.size == 32, "writes were held up by 32 reads")
      axi.arReady = () => true
      wishbone.answer = _ => Answer.good
      settle()
      assert(host.completed == 132 && host.errors == 0)
    }
  }

  test(
    s"completions that are not taken hold up no write to any target, seed ${Seed.value}"
  ) {
    MmioBench("blocked", Seed.value) { bench =>
      import bench._
      maxPayload(1)
      host.completionReady = () => false
      for (n <- 0 until 32) host.waiting += (n % 4 match {
        case 0 => read(2, 112 * n, 512)
        case 1 => read(2, 0x8000 + 112 * n, 512)
        case 2 => read(2, 0x10000 + 112 * n, 512)
        case _ => read(0, 112 * n, 64)
      })
      cycles(1000)
      assert(host.reads.size == 32 && host.completed == 0)
      for (n <- 0 until 2000) {
        val (bar, base) = page(Seq("bram0", "bram1", "uram", "axi", "wishbone"))
        host.waiting += write(bar, base + 32 * random.nextInt(100), 1 + random.nextInt(64))
      }
      until(60000, s"${host.waiting.size} writes are stuck behind reads")(host.waiting.isEmpty)
      cycles(3000)
      assert(host.completed == 0)
      // Writes to memories alone lose no cycle, although the host takes no completion.
      val from = host.offeredAt.size
      for (n <- 0 until 200) host.waiting += write(2, 64 * n % 4096, 64)
      cycles(410)
      assert(host.acceptedAt.last - host.offeredAt(from) + 1 == 400, "writes were held up")
      host.completionReady = () => true
      settle()
      for ((name, bytes) <- Seq("wishbone" -> wishbone.bytes, "axi" -> axi.bytes))
        assert(host.targets(name).bytes.sameElements(bytes), s"$name is not as written")
    }
  }

  test(s"an AXI bus that takes no write loses writes, but stops nothing else, seed ${Seed.value}") {
    MmioBench("held", Seed.value) { bench =>
      import bench._
      axi.awReady = () => false
      axi.wReady = () => false
      // Reads of the AXI target end with an abort, since the writes before them never end.
      host.targets("axi").bad = _ => true
      for (n <- 0 until 64) host.waiting += write(2, 0x10000 + 64 * n, 64)
      for (n <- 0 until 64) host.waiting += write(2, 64 * n, 64)
      for (n <- 0 until 64) host.waiting += read(2, 64 * n, 64)
      for (n <- 0 until 64) host.waiting += read(2, 0x1f000, 64)
      until(8 * MmioDut.Timeout, s"${host.waiting.size} requests are stuck")(host.quiet)
      assert(host.completed == 128 && host.errors == 64)
      val dropped = dut.io.statistics.writesDropped.toLong
      assert(dropped > 16 && dropped < 64, s"$dropped writes were dropped")
      assert(dut.io.statistics.lastError.kind.toEnum == MmioErrorKind.timeout ||
        dut.io.statistics.lastError.kind.toEnum == MmioErrorKind.held)
      // The AXI bus takes writes again. The bridge carries out the writes that it has kept, and new
      // writes go through.
      axi.awReady = () => true
      axi.wReady = () => true
      cycles(4 * MmioDut.Timeout)
      host.targets("axi").bad = _ => false
      axi.bytes.copyToArray(host.targets("axi").bytes)
      for (n <- 0 until 64) host.waiting += write(2, 0x10000 + 64 * n, 64)
      for (n <- 0 until 64) host.waiting += read(2, 0x10000 + 64 * n, 64)
      settle()
      assert(dut.io.statistics.writesDropped.toLong == dropped)
    }
  }
}
