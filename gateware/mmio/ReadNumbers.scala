// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.mmio

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.FreeNumbers

/** Gives each host read a number while the read is inside the MMIO bridge, which keeps the read's
  * fields under that number. Numbers may come back in any order.
  */
case class ReadNumbers() extends Component {
  val io = new Bundle {
    val take = master(Stream(UInt(MmioParam.ReadNumberWidth bits)))
    val free = slave(Flow(UInt(MmioParam.ReadNumberWidth bits)))
    val used = out UInt (log2Up(MmioParam.Reads + 1) bits)
  }

  val numbers = FreeNumbers(MmioParam.Reads, latency = 1)
  numbers.io.free << io.free
  io.take << numbers.io.take

  val used = Reg(UInt(log2Up(MmioParam.Reads + 1) bits)) init 0
  used    := used + io.take.fire.asUInt - io.free.valid.asUInt
  io.used := used
}
