// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import spinal.core._
import spinal.lib._

import lanebox.virtio.vocabulary.{EngineParam, Row, VirtioParam}
import lanebox.vocabulary.{Frames, HardBlock}

/** Turns the frames from the net device's far side into rows for a FrameStore. The header of VirtIO
  * (1.2, 5.1.6) is put in front of each frame: 12 bytes, all 0 but `num_buffers`, which is 1.
  *
  * A beat is taken in every cycle, but for one cycle in a frame at the most. A frame is dropped if
  * its source found it bad, if there is no room for it, or if no driver runs the device. `lost`
  * counts the frames that were dropped while a driver ran. While the receive queue is not live, for
  * example since it is being reset, frames wait in the store.
  */
case class NetReceive(p: EngineParam) extends Component {
  import VirtioParam.NetHeader

  val io = new Bundle {
    val c2h   = slave(Frames())
    val runs  = in Bool () // A driver runs the device.
    val clear = in Bool () // The store was cleared: the rest of the present frame is dropped.
    val free  = in UInt (p.rowWidth + 1 bits)
    val row   = master(Flow(Row()))
    val lost  = out Bool ()
  }
  val Moved  = 8 * NetHeader // Bits by which the header moves the frame in its rows.
  val Rest   = HardBlock.BeatBytes - NetHeader
  val header = B(BigInt(1) << 80, Moved bits)

  val first   = RegNextWhen(io.c2h.last, io.c2h.fire) init True
  val storing = RegInit(False) // The present frame is stored.
  // The bytes of the row in front of those of the beat.
  val carry = Reg(Bits(Moved bits)) init header
  val extra = RegInit(False)    // The bytes in `carry` are the last row of their frame.
  val bytes = Reg(UInt(5 bits)) // The number of bytes in that row.

  // `free` is some cycles old, and the rows of the frame before may still be counted as free.
  val needs = ((io.c2h.head.kept + U(NetHeader + 31)) >> 5).resize(p.rowWidth + 1) + 4
  val fits  = io.c2h.head.kept <= p.largest && needs <= io.free
  val takes = io.runs && fits && !io.c2h.error && !io.clear
  val keeps = first ? takes | (storing && !io.clear)
  // No stream operator fits: a frame's last beat may become two rows, and the source waits during
  // the second one.
  io.c2h.ready := !extra
  when(io.c2h.fire) { storing := keeps && !io.c2h.last }
  when(io.clear) { storing := False }
  val loses = io.c2h.fire && ((first && !takes && io.runs) || (!first && io.clear && storing))
  io.lost := RegNext(loses) init False

  val ends = io.c2h.last
  val over = ends && (io.c2h.bytes === 0 || io.c2h.bytes > Rest) // The frame needs one more row.
  val row  = Flow(Row())
  row.valid := (io.c2h.fire && keeps) || (extra && !io.clear)
  row.data  := io.c2h.data(HardBlock.DataWidth - Moved - 1 downto 0) ## carry
  row.last  := extra || (ends && !over)
  row.bytes := extra ? bytes | (io.c2h.bytes + NetHeader)
  when(io.c2h.fire) {
    carry := io.c2h.data(HardBlock.DataWidth - 1 downto HardBlock.DataWidth - Moved)
  }
  when(extra || (io.c2h.fire && ends && !over) || (io.c2h.fire && !keeps)) { carry := header }
  extra := io.c2h.fire && keeps && over
  bytes := io.c2h.bytes - Rest
  io.row << row.m2sPipe
}
