// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rc

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.HardBlock

/** The memory in which completion payload waits until it is delivered to its client. Each client
  * has a ring in the memory. Each 32-bit lane of a beat is a memory of its own.
  *
  * Each lane has its own row address, so any eight consecutive dwords are written in one cycle.
  * `data` follows `read` by two cycles.
  */
case class LandingMemory(p: ReturnParam) extends Component {
  import LandingMemory._
  val io = new Bundle {
    val write = slave(Flow(Write(p)))
    val read  = slave(Flow(Read(p)))
    val data  = out Bits (HardBlock.DataWidth bits)
  }
  val behind = io.write.row + 1
  val lanes =
    for (i <- 0 until HardBlock.Dwords) yield new Area {
      val memory = Mem(Bits(32 bits), p.clients * p.rows)
      val place  = RegNext(io.write.client @@ (io.write.wraps(i) ? behind | io.write.row))
      val dword  = RegNext(io.write.data(32 * i, 32 bits))
      val writes = RegNext(io.write.valid && io.write.enable(i)) init False
      memory.write(place.resized, dword, writes)
      val word = memory.readSync((io.read.client @@ io.read.row).resized, io.read.valid)
      val show = RegNext(io.read.show(i))
      val out  = RegNext(word)
      when(!show) { out := 0 }
      io.data(32 * i, 32 bits) := out
    }
}

object LandingMemory {

  /** A write of up to eight consecutive dwords into a client's ring. Dword n of a ring is stored in
    * lane n mod 8 of row n / 8.
    */
  case class Write(p: ReturnParam) extends Bundle {
    val client = UInt(p.clientWidth bits)
    val row    = UInt(p.rowWidth bits)
    val wraps  = Bits(HardBlock.Dwords bits) // Lanes that are written in row + 1, not in `row`.
    val enable = Bits(HardBlock.Dwords bits)
    val data   = Bits(HardBlock.DataWidth bits)
  }

  /** A read of one row of a client's ring. A lane whose bit in `show` is 0 gives zero. */
  case class Read(p: ReturnParam) extends Bundle {
    val client = UInt(p.clientWidth bits)
    val row    = UInt(p.rowWidth bits)
    val show   = Bits(HardBlock.Dwords bits)
  }
}
