// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** The store of a client's write data: beats go in, any eight consecutive dwords come out.
  *
  * Each lane has a memory and a row address of its own, so a TLP whose payload begins in the middle
  * of a beat costs no cycle. Lane b of `data` comes from memory b; RequestFramer rotates it.
  */
case class RequestLanes(p: RequestParam) extends Component {
  val io = new Bundle {
    val write  = slave(Flow(Bits(HardBlock.DataWidth bits)))
    val row    = in UInt (p.rowBits bits)
    val window = in UInt (p.positionBits bits) // First of the eight dwords.
    val next   = in UInt (p.rowBits bits)      // The row after that of `window`.
    val data   = out Bits (HardBlock.DataWidth bits)
  }

  val laneBits = log2Up(HardBlock.Dwords)
  val lane     = io.window(laneBits - 1 downto 0)
  val rows     = Seq(io.window >> laneBits, io.next)
  for (bank <- 0 until HardBlock.Dwords) {
    val memory = Mem(Bits(32 bits), p.storeBeats)
    memory.setName(s"bank$bank").addAttribute("ram_style", "distributed")
    memory.write(io.row.resized, io.write.payload(bank * 32, 32 bits), io.write.valid)
    io.data(bank * 32, 32 bits) := memory.readAsync(((lane > bank) ? rows(1) | rows(0)).resized)
  }
}
