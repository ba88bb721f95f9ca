// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.mmio

import org.scalatest.funsuite.AnyFunSuite

import lanebox.vocabulary.Seed

/** Checks the latency of a read in an idle MMIO bridge, exact to the cycle, and the highest
  * throughput of reads and writes.
  */
class MmioTimingTest extends AnyFunSuite {
  val most = Map("bram0" -> 3, "bram1" -> 3, "identity" -> 3, "uram" -> 5)

  /** Returns the cycles from a read of the Wishbone bus to its completion: as many as for a block
    * memory, one for the bus, one for its answer, one to hand it on, and three for each further
    * dword.
    */
  def busCycles(bytes: Int) = most("bram0") + 3 + 3 * (bytes / 4 - 1)

  test(s"idle, a read's completion comes as early as promised, seed ${Seed.value}") {
    MmioBench("latency", Seed.value) { bench =>
      import bench._
      for (target <- most.keys.toSeq.sorted; bytes <- Seq(1, 4, 8, 64, 256); _ <- 0 until 8) {
        val (bar, base) = page(Seq(target))
        val before      = host.completionOffered.size
        host.waiting += read(bar, base + 4 * random.nextInt(700), bytes)
        settle()
        val cycles = (host.completionOffered(before) - host.offeredAt.last).toInt
        assert(cycles == most(target), s"$bytes bytes of $target took $cycles cycles")
      }
      for (target <- Seq("wishbone", "axi"); bytes <- Seq(4, 64)) {
        val (bar, base) = page(Seq(target))
        host.waiting += read(bar, base + 64 * random.nextInt(10), bytes)
        settle()
        val cycles = host.completionOffered.last - host.offeredAt.last
        info(s"$bytes bytes of $target: $cycles cycles")
        if (target == "wishbone") assert(cycles == busCycles(bytes))
      }
    }
  }

  for (
    target <- most.keys.toSeq.sorted;
    (bytes, code) <-
      Seq(4 -> 1, 32 -> 1, 64 -> 1, 128 -> 1, 256 -> 1, 512 -> 1, 512 -> 2, 4096 -> 2)
  ) test(
    s"$bytes byte reads of $target, MPS ${128 << code}: a beat in every cycle"
  ) {
    MmioBench("reads", Seed.value) { bench =>
      import bench._
      maxPayload(code)
      val count       = 4096 / bytes max 16
      val (bar, base) = windowOf(target)
      for (n <- 0 until count) host.waiting += read(bar, base + bytes * n % 4096, bytes)
      settle()
      val beats  = host.completionBeats.map(_._1)
      val cycles = beats.last - beats.head + 1
      assert(beats.size == count * ((bytes + 31) / 32))
      assert(cycles == beats.size, s"${beats.size} beats took $cycles cycles")
    }
  }

  test(s"idle, a dword is written to the bus in the next cycle, seed ${Seed.value}") {
    MmioBench("bus write", Seed.value) { bench =>
      import bench._
      val (bar, base) = windowOf("wishbone")
      for (n <- 1 to 20) {
        host.waiting += write(bar, base + 4 * random.nextInt(1000), 4)
        until(100, "no access")(wishbone.accesses == n)
        // The model of the Wishbone bus counts an access at the end of the access's first cycle.
        val cycles = host.cycle - host.offeredAt.last
        assert(cycles == 2, s"the access was seen after $cycles cycles")
        settle()
      }
    }
  }

  for (atOnce <- Seq(false, true)) test(
    s"dwords written to the bus: one in each cycle or in two, answers at once $atOnce, " +
      s"seed ${Seed.value}"
  ) {
    MmioBench("bus writes", Seed.value) { bench =>
      import bench._
      wishbone.atOnce(atOnce)
      val (bar, base) = windowOf("wishbone")
      val count       = 100
      for (_ <- 0 until count) host.waiting += write(bar, base + 4 * random.nextInt(1000), 4)
      until(100, "no access")(wishbone.accesses == 1)
      val start = host.cycle
      until(10 * count, s"${wishbone.accesses} of $count accesses")(wishbone.accesses == count)
      val cycles = host.cycle - start
      // If the bus answers a cycle later, the second dword written passes through the bridge's
      // queue, which takes two cycles more.
      val wanted = if (atOnce) count - 1 else 2 * (count - 1) + 2
      assert(cycles == wanted, s"${count - 1} accesses took $cycles cycles")
      settle()
    }
  }

  /** Returns BAR and byte offset of a target's first window. */
  private def windowOf(target: String) = {
    val window = MmioDut.parameters.windows.find(_.target == target).get
    (window.bar, window.base.toInt)
  }

  for (target <- Seq("bram0", "uram", "axi"); bytes <- Seq(64, 128, 256, 512)) test(
    s"$bytes byte writes to $target: a beat in every cycle"
  ) {
    MmioBench("writes", Seed.value) { bench =>
      import bench._
      maxPayload(2)
      axi.latency = () => 50
      val (bar, base) = windowOf(target)
      for (n <- 0 until 16384 / bytes) host.waiting += write(bar, base + bytes * n % 4096, bytes)
      settle()
      val cycles = host.acceptedAt.last - host.offeredAt.head + 1
      assert(cycles == 16384 / 32, s"${16384 / 32} beats took $cycles cycles")
    }
  }

  for (bytes <- Seq(64, 128, 256, 512); code = if (bytes == 512) 2 else 1) test(
    s"$bytes byte reads of an AXI memory of 50 cycles reach 0.95 of the CC ceiling"
  ) {
    MmioBench("axi50", Seed.value) { bench =>
      import bench._
      maxPayload(code)
      axi.latency = () => 50
      axi.mixing = false
      // A non-posted credit returns to the host 8 cycles after its read was answered.
      host.creditDelay = 8
      // CC takes beats as CcFramer does: the completion's descriptor of 12 bytes costs each
      // completion one more beat.
      val data = bytes / 32
      host.completionReady = () => {
        val n = host.completionBeats.size
        !(n > 0 && n % data == 0 && host.completionBeats.last._1 == host.cycle - 1)
      }
      val count = 16384 / bytes
      for (n <- 0 until count) host.waiting += read(2, 0x10000 + bytes * n % 8192, bytes)
      settle()
      // The time is counted from the first completion beat on, so the first read's latency is left
      // out.
      val beats   = host.completionBeats.map(_._1)
      val cycles  = beats.last - beats.head + 1
      val ceiling = count * (data + 1) - 1
      println(f"$bytes bytes: ${bytes.toDouble * count / (cycles + 1)}%.2f B/cycle, ceiling " +
        f"${bytes.toDouble / (data + 1)}%.2f")
      assert(ceiling >= 0.95 * cycles, s"$cycles cycles instead of $ceiling")
      assert(axi.mostReads > 16, s"only ${axi.mostReads} reads in flight")
    }
  }
}
