// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.mmio

import spinal.core._
import spinal.lib._

/** A histogram: `bins` counters of 32 bits in a small memory.
  *
  * An event says which counter to increment. One event may come in every cycle. Reset and `clear`
  * set all counters to 0. That takes `bins` cycles, and events that come meanwhile are not counted.
  */
case class Histogram(bins: Int) extends Component {
  require(isPow2(bins) && bins >= 2, s"$bins bins: must be a power of two, at least 2")

  val io = new Bundle {
    val event  = slave(Flow(UInt(log2Up(bins) bits)))
    val clear  = in Bool ()
    val select = in UInt (log2Up(bins) bits)
    val count  = out UInt (32 bits) // The count in bin `select`, a cycle after `select` is set.
  }
  val counts   = Mem(UInt(32 bits), bins)
  val event    = io.event.m2sPipe
  val clearing = RegInit(True)
  val cleared  = Reg(UInt(log2Up(bins) bits)) init 0
  when(clearing) { cleared := cleared + 1 }
  when(clearing && cleared.andR) { clearing := False }
  when(io.clear) {
    clearing := True
    cleared  := 0
  }
  val old = counts.readAsync(event.payload)
  counts.write(
    address = clearing ? cleared | event.payload,
    data = (old + 1).andMask(!clearing),
    enable = clearing || event.valid
  )
  val count = RegNext(counts.readAsync(io.select))
  io.count := count
}

object Histogram {

  /** Returns the number of the highest set bit in `value`, counted from 0; 0 if no bit is set. */
  def log2(value: UInt): UInt = OHToUInt(OHMasking.last(value.asBits))
}
