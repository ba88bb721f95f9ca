// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.mmio

import spinal.core._
import spinal.lib._

/** Gives out the numbers of free read slots. A read slot is the place of one host read inside the
  * MMIO bridge. Numbers may come back in any order.
  */
case class ReadSlots() extends Component {
  val io = new Bundle {
    val take = master(Stream(UInt(MmioParameters.SlotWidth bits)))
    val free = slave(Flow(UInt(MmioParameters.SlotWidth bits)))
    val used = out UInt (log2Up(MmioParameters.Slots + 1) bits)
  }

  val returned = StreamFifo(UInt(MmioParameters.SlotWidth bits), MmioParameters.Slots, latency = 1)
  returned.io.push << io.free.toStream

  // The FIFO's memory has no reset, so each number comes from a counter the first time.
  val fresh = Reg(UInt(log2Up(MmioParameters.Slots + 1) bits)) init 0
  val next  = Stream(UInt(MmioParameters.SlotWidth bits))
  next.valid            := !fresh.msb || returned.io.pop.valid
  next.payload          := fresh.msb ? returned.io.pop.payload | fresh.resized
  returned.io.pop.ready := fresh.msb && next.ready
  when(next.fire && !fresh.msb) { fresh := fresh + 1 }
  io.take << next.m2sPipe()

  val used = Reg(UInt(log2Up(MmioParameters.Slots + 1) bits)) init 0
  used    := used + io.take.fire.asUInt - io.free.valid.asUInt
  io.used := used
}
