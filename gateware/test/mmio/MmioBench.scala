// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.mmio

import scala.util.Random
import spinal.core.sim._

/** Test bench of the MMIO bridge. MmioBench steps the model of the host, the bridge and the models
  * of the slow targets (Wishbone and AXI) together.
  */
class MmioBench(val dut: MmioDut, seed: Int) {
  val random   = new Random(seed)
  val host     = new MmioHost(dut, random)
  val wishbone = new WishboneModel(dut, random)
  val axi      = new AxiModel(dut, random)

  for ((name, bytes) <- Seq("wishbone" -> wishbone.bytes, "axi" -> axi.bytes)) {
    random.nextBytes(bytes)
    bytes.copyToArray(host.targets(name).bytes)
  }
  wishbone.asked = host.asked("wishbone")
  dut.io.awake #= false
  dut.clockDomain.forkStimulus(10)
  host.reset()
  wishbone.reset()
  axi.reset()
  dut.clockDomain.waitSampling(40)
  dut.io.awake #= true

  def cycle(): Unit = {
    dut.clockDomain.waitSampling()
    host.step()
    wishbone.step()
    axi.step()
  }
  def cycles(count: Int): Unit = for (_ <- 0 until count) cycle()

  /** Runs the bench until `done` is true. Fails after `most` cycles and says `what` was missing. */
  def until(most: Int, what: => String)(done: => Boolean): Unit = {
    var left = most
    while (!done) {
      assert(left > 0, s"after $most cycles: $what")
      left -= 1
      cycle()
    }
  }

  def settle(most: Int = 200000): Unit = {
    until(most, s"${host.reads.size} reads, ${host.waiting.size} requests still there")(host.quiet)
    until(most, "not idle")(dut.io.idle.toBoolean)
    cycles(4)
  }

  def maxPayload(code: Int): Unit = {
    dut.io.maxPayload #= code
    host.mps = 128 << code
    cycles(3)
  }

  def strict(on: Boolean): Unit = {
    dut.io.strict #= on
    host.strict = on
    cycles(3)
  }

  // Makers of requests ----------------------------------------------------------------------------

  def read(bar: Int, offset: Int, bytes: Int): HostRequest = {
    val dwords  = ((offset & 3) + bytes + 3) / 4
    val firstBe = (15 << (offset & 3)) & 15
    val lastBe  = 15 >> (3 - ((offset + bytes - 1) & 3))
    if (dwords == 1) HostRequest(false, bar, offset & ~3, 1, firstBe & lastBe, 0)
    else HostRequest(false, bar, offset & ~3, dwords, firstBe, lastBe)
  }

  def write(bar: Int, offset: Int, bytes: Int): HostRequest = {
    val r    = read(bar, offset, bytes)
    val data = new Array[Byte](4 * r.dwords)
    random.nextBytes(data)
    r.copy(write = true, data = data)
  }

  /** Chooses a random page (4 KiB) of a window that shows one of `targets`. Returns the page's BAR
    * and its offset in the BAR, in bytes.
    */
  def page(targets: Seq[String]): (Int, Int) = {
    val window = dut.p.windows.filter(w => targets.contains(w.target))
    val w      = window(random.nextInt(window.size))
    (w.bar, (w.base + 4096 * BigInt(random.nextInt((w.size / 4096).toInt))).toInt)
  }

  /** Makes a random request of the host, of up to `most` bytes, often a small one. Its byte enables
    * may have holes where PCIe allows them.
    */
  def any(targets: Seq[String], write: Boolean, most: Int, near: Boolean): HostRequest = {
    val (bar, base) = page(targets)
    val limit = random.nextInt(4) match {
      case 0 => 8
      case 1 => 64
      case 2 => 600
      case _ => most
    }
    val bytes  = 1 + random.nextInt(limit min most)
    val room   = 4096 - bytes
    val offset = if (near) random.nextInt(room min 200 max 1) else random.nextInt(room + 1)
    val at     = base + offset
    val r      = if (write) this.write(bar, at, bytes) else read(bar, at, bytes)
    // A request of one dword may have any byte enables, even none. A request of two dwords may have
    // holes if both are in one quadword.
    if (r.dwords == 1 && random.nextBoolean()) r.copy(firstBe = random.nextInt(16))
    else if (r.dwords == 2 && r.offset % 8 == 0 && random.nextBoolean())
      r.copy(firstBe = 1 + random.nextInt(15), lastBe = 1 + random.nextInt(15))
    else r
  }
}

object MmioBench {
  def apply(name: String, seed: Int)(body: MmioBench => Unit): Unit =
    apply(MmioDut.compiled, name, seed)(body)

  def apply(dut: SimCompiled[MmioDut], name: String, seed: Int)(body: MmioBench => Unit): Unit =
    dut.doSim(name, seed)(dut => body(new MmioBench(dut, seed)))
}
