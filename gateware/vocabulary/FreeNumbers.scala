// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.vocabulary

import spinal.core._
import spinal.lib._

/** Gives out the free ones of the numbers from 0 to `count` - 1. Numbers come back at `free`, in
  * any order. Those below `first` are in use at reset.
  *
  * Memories have no reset, so the first use of each number comes from a counter, and only later
  * uses come from the list. `latency` is the latency of the list in cycles. With 1 the list is a
  * memory with an asynchronous read.
  */
case class FreeNumbers(count: Int, first: Int = 0, latency: Int = 2) extends Component {
  require(isPow2(count) && count >= 2, s"$count numbers: a power of two, 2 or more")
  require(first >= 0 && first < count, s"first $first: one of the $count numbers")

  val width = log2Up(count)
  val io = new Bundle {
    val take = master(Stream(UInt(width bits)))
    val free = slave(Flow(UInt(width bits)))
  }
  val list = StreamFifo(UInt(width bits), count, latency = latency)
  list.io.push << io.free.toStream // The list is never full: it has room for all numbers.

  val unused  = Reg(UInt(width + 1 bits)) init first
  val counter = Stream(UInt(width bits))
  counter.valid   := True
  counter.payload := unused.resized
  when(counter.fire) { unused := unused + 1 }

  val allUsed = unused.msb
  val supply  = Stream(UInt(width bits))
  supply << StreamMux(allUsed.asUInt, Seq(counter, list.io.pop))
  io.take << supply.m2sPipe()
}
