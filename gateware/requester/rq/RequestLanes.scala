// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rq

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.HardBlock

/** The store of a client's write data. It is written in beats, and any eight consecutive dwords can
  * be read in one cycle.
  *
  * Each lane has a memory and a row address of its own, so a TLP whose payload begins in the middle
  * of a beat costs no additional cycle. Lane b of `data` comes from the memory of lane b, so the
  * first of the eight dwords may be in any lane. RequestFramer rotates the dwords to their places.
  */
case class RequestLanes(p: RequestParam) extends Component {
  val io = new Bundle {
    val write = slave(Flow(Bits(HardBlock.DataWidth bits)))
    val row   = in UInt (p.rowBits bits)
    // Position of the first of the eight dwords to read, in dwords from the start of the store.
    val start = in UInt (p.positionBits bits)
    val next  = in UInt (p.rowBits bits)
    val data  = out Bits (HardBlock.DataWidth bits)
  }

  val laneBits = log2Up(HardBlock.Dwords)
  val lane     = io.start(laneBits - 1 downto 0)
  val rows     = Seq(io.start >> laneBits, io.next)
  val banks =
    for (bank <- 0 until HardBlock.Dwords) yield new Area {
      val memory = Mem(Bits(32 bits), p.storeBeats)
      memory.setName(s"bank$bank").addAttribute("ram_style", "distributed")
      memory.write(io.row.resized, io.write.payload(bank * 32, 32 bits), io.write.valid)
      val row  = (lane > bank) ? rows(1) | rows(0)
      val word = memory.readAsync(row.resized)
      io.data(bank * 32, 32 bits) := word
    }
}
