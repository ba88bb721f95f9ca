// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.mmio

import org.scalatest.funsuite.AnyFunSuite

import lanebox.vocabulary.{LaneboxSim, Seed, Window}

/** Tests the MMIO bridge with the card's parameter `writeBytes` = 512: no write of the host has
  * more bytes, and the bridge's counters are only as wide as that needs.
  */
class MmioWriteBytesTest extends AnyFunSuite {
  val most = 512

  val parameters = MmioParam(
    memories = Seq(
      MemoryParam("bram0", 4096, 1, writable = true),
      MemoryParam("uram", 16384, 3, writable = true)
    ),
    windows = Seq(
      Window(0, 0x0, 0x10000, "wishbone"),
      Window(0, 0x10000, 4096, "bram0"),
      Window(2, 0x0, 0x4000, "uram"),
      Window(2, 0x10000, 0x10000, "axi", 0x30000)
    ),
    axi = true,
    axiAddressWidth = 24,
    timeout = MmioDut.Timeout,
    writeBytes = most
  )
  val targets = parameters.targets

  private lazy val compiled = LaneboxSim(MmioDut(parameters))

  private def asWritten(bench: MmioBench): Unit = {
    import bench._
    for ((name, bytes) <- Seq("wishbone" -> wishbone.bytes, "axi" -> axi.bytes))
      assert(host.targets(name).bytes.sameElements(bytes), s"$name is not as written")
  }

  for (code <- 0 to 2) test(s"random requests, MPS ${128 << code}, seed ${Seed.value}") {
    MmioBench(compiled, "random", Seed.value + code) { bench =>
      import bench._
      maxPayload(code)
      for (share <- Seq(0.0, 0.4)) {
        host.requestGap = () => if (random.nextDouble() < share) random.nextInt(6) else 0
        host.completionReady = () => random.nextDouble() >= share
        axi.wReady = () => random.nextDouble() >= share
        for (_ <- 0 until 400) {
          val write = random.nextBoolean()
          // A write of three bytes less than MPS has at most MPS / 4 dwords at any byte offset.
          val bytes = if (write) (128 << code) - 3 else 1024
          host.waiting += any(targets, write, bytes, near = true)
        }
        settle()
      }
      asWritten(bench)
    }
  }

  test(s"the largest writes, at every lane, and what is a dword shorter, seed ${Seed.value}") {
    MmioBench(compiled, "largest", Seed.value) { bench =>
      import bench._
      maxPayload(2)
      for (target <- targets; lane <- 0 until 8; bytes <- Seq(most, most - 4, most - 3)) {
        val (bar, base) = page(Seq(target))
        val at          = base + 32 * random.nextInt(100) + 4 * lane
        host.waiting += write(bar, at, bytes)
        host.waiting += read(bar, at - at % 32, most + 64)
      }
      settle()
      asWritten(bench)
    }
  }
}
