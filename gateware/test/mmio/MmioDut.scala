// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.mmio

import spinal.core._
import spinal.core.sim._
import spinal.lib._
import spinal.lib.bus.amba4.axi.Axi4
import spinal.lib.bus.wishbone.Wishbone

import lanebox.vocabulary.targets.{TargetCompletion, TargetRequest}
import lanebox.vocabulary.{HardBlock, LaneboxSim, Window}

/** Ports of the MMIO bridge under test, without those of the memories. They are a Bundle of their
  * own because tests use them in every cycle.
  */
case class MmioDutPorts(p: MmioParam) extends Bundle {
  // `awake` is low until the reset has ended. Before that, registers have random values in
  // simulation, and no memory may be written.
  val awake      = in Bool ()
  val request    = slave(Stream(Fragment(TargetRequest())))
  val completion = master(Stream(Fragment(TargetCompletion())))
  val wishbone   = master(Wishbone(WishboneTarget.config))
  // While high, the Wishbone bus answers a write in the first cycle of the access.
  val atOnce          = in Bool ()
  val axi             = master(Axi4(AxiTarget.config(p.axiAddressWidth)))
  val maxPayload      = in UInt (3 bits)
  val strict          = in Bool ()
  val stop            = in Bool ()
  val idle            = out Bool ()
  val clearStatistics = in Bool ()
  val statistics      = out(MmioStatistics())
  val latencySelect   = in UInt (5 bits)
  val sizeSelect      = in UInt (5 bits)
}

/** The MMIO bridge with its memories, one for each lane of 32 bits, as in the FPGA. */
case class MmioDut(p: MmioParam) extends Component {
  val io     = MmioDutPorts(p)
  val bridge = MmioBridge(p)
  bridge.io.request << io.request
  io.completion << bridge.io.completion
  io.wishbone <> bridge.io.wishbone
  val bus = bridge.io.wishbone
  bus.ACK.allowOverride() := io.wishbone.ACK || (io.atOnce && bus.CYC && bus.STB && bus.WE)
  io.axi <> bridge.io.axi
  io.idle                   := bridge.io.idle
  io.statistics             := bridge.io.statistics
  bridge.io.maxPayload      := io.maxPayload
  bridge.io.strict          := io.strict
  bridge.io.stop            := io.stop
  bridge.io.clearStatistics := io.clearStatistics
  bridge.io.latencySelect   := io.latencySelect
  bridge.io.sizeSelect      := io.sizeSelect

  for ((m, port) <- p.memories.zip(bridge.io.memories)) {
    val lanes = for (lane <- 0 until HardBlock.Dwords) yield {
      val memory = Mem((0 until m.rows.toInt).map { row =>
        val bytes = (0 to 3).map(n => BigInt(MmioDut.initial(m.name, 32 * row + 4 * lane + n)))
        B(bytes.zipWithIndex.map { case (byte, n) => byte << (8 * n) }.sum, 32 bits)
      })
      memory.write(
        port.writeRows(lane),
        port.writeData(32 * lane, 32 bits),
        mask = port.writeMask(4 * lane, 4 bits),
        enable = io.awake
      )
      Delay(memory.readSync(port.readRows(lane), port.readEnable), m.latency - 1)
    }
    port.readData := Cat(lanes)
  }
}

object MmioDut {
  val Timeout = 2048

  /** The address map of the MMIO tests: two block memories in two BARs, a slow memory (UltraRAM), a
    * ROM, the Wishbone bus and the AXI bus. All are small, so that requests often meet at the same
    * address.
    */
  val parameters = MmioParam(
    memories = Seq(
      MemoryParam("bram0", 4096, 1, writable = true),
      MemoryParam("bram1", 4096, 1, writable = true),
      MemoryParam("uram", 16384, 3, writable = true),
      MemoryParam("identity", 4096, 1, writable = false)
    ),
    windows = Seq(
      Window(0, 0x0, 0x10000, "wishbone"),
      Window(0, 0x10000, 4096, "bram0"),
      Window(0, 0x14000, 4096, "bram1"),
      Window(0, 0x18000, 4096, "identity"),
      Window(2, 0x0, 4096, "bram0"),
      Window(2, 0x4000, 4096, "bram1"),
      Window(2, 0x8000, 0x4000, "uram"),
      // A second window onto `uram`, which shows its third page of 4 KiB.
      Window(2, 0xc000, 0x1000, "uram", 0x2000),
      Window(2, 0x10000, 0x10000, "axi", 0x30000)
    ),
    axi = true,
    axiAddressWidth = 24,
    timeout = Timeout
  )

  def initial(name: String, address: Int): Int =
    (address * 37 + (address >> 8) * 11 + name.hashCode) & 0xff

  lazy val compiled = LaneboxSim(MmioDut(parameters))
}
