// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture

import spinal.core._
import spinal.lib._

/** The list of the staging memory's free cells. At reset cell 0 is not in it, since it is the cell
  * that is filled first.
  *
  * Memories have no reset, so each cell's first use comes from a counter, and only later ones from
  * the list. `freed` is high for one cycle when a cell has become free.
  */
case class FreeCells(p: CaptureParam) extends Component {
  val io = new Bundle {
    val release = slave(Flow(UInt(p.cellWidth bits)))
    val freed   = out Bool ()
    val next    = master(Stream(UInt(p.cellWidth bits)))
  }
  val list = StreamFifo(UInt(p.cellWidth bits), p.cells)
  list.io.push << io.release.toStream // Never full: it has room for all cells.

  val unused = Reg(UInt(p.cellWidth + 1 bits)) init 1
  val supply = Stream(UInt(p.cellWidth bits))
  supply.valid      := !unused.msb || list.io.pop.valid
  supply.payload    := unused.msb ? list.io.pop.payload | unused.resized
  list.io.pop.ready := supply.ready && unused.msb
  when(supply.fire && !unused.msb) { unused := unused + 1 }

  io.next << supply.m2sPipe()
  io.freed := Delay(io.release.valid, FreeCells.Latency, init = False)
}

object FreeCells {

  /** Cycles from `release` until `next` can have the cell. */
  val Latency = 4
}
