// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import spinal.core._
import spinal.lib._

import lanebox.virtio.vocabulary.{EngineParam, Row}
import lanebox.vocabulary.HardBlock

/** Holds frames between the transmit queues and the receive queues: a ring of rows of 32 bytes.
  *
  * A frame is at `frame`, with its length in bytes, when it is complete. It begins with a row of
  * its own: `place`. `read` is the number of a row in the ring, and `data` follows two cycles
  * later. The caller gives `read` from a register, since it goes to the memory as it is. A frame
  * may be taken before its rows are read. They become free when `rest` says that all rows of taken
  * frames were read, or when the frame after the next one is taken.
  */
case class FrameStore(p: EngineParam) extends Component {
  val io = new Bundle {
    val row    = slave(Flow(Row()))
    val mark   = in Bool ()                     // With the last row of a frame: what `marked` says.
    val forget = in Bool ()                     // The frame that is being written is dropped.
    val clear  = in Bool ()
    val free   = out UInt (p.rowWidth + 1 bits) // Rows that may be written.
    val frame  = master(Stream(UInt(p.frameWidth bits)))
    val place  = out UInt (p.rowWidth bits)
    val marked = out Bool ()                    // The `mark` of the next cycle's `frame`.
    val read   = in UInt (p.rowWidth bits)
    val rest   = in Bool ()
    val shows  = in Bool ()                     // Otherwise `data` is 0 in the next cycle.
    val data   = out Bits (HardBlock.DataWidth bits)
  }
  val memory = Mem(Bits(HardBlock.DataWidth bits), p.rows)
  memory.addAttribute("ram_style", "block")

  // Numbers of rows, modulo twice the number of rows.
  val head, start, tail = Reg(UInt(p.rowWidth + 1 bits)) init 0
  // The first row of the frame that was taken last, and the first row that is not free.
  val origin, kept = Reg(UInt(p.rowWidth + 1 bits)) init 0
  // A frame has a row at least, so there are never more lengths than rows.
  val lengths = StreamFifo(Bits(p.frameWidth + 1 bits), p.rows, latency = 2)

  memory.write(head.resized, io.row.data, io.row.valid)
  val rows  = (head - start).resize(p.rowWidth)
  val bytes = (io.row.bytes === 0) ? U(HardBlock.BeatBytes, 6 bits) | io.row.bytes.resize(6)
  val comes = io.row.valid && io.row.last
  val whole = io.mark ## ((rows @@ U(0, 5 bits)) +^ bytes).resize(p.frameWidth)

  /** The oldest frame. If there is none, the next one comes here past `lengths`. */
  val oldest = new Area {
    val some   = RegInit(False)
    val length = Reg(Bits(p.frameWidth + 1 bits))
    val empty  = RegNext(lengths.io.occupancy === 0 && !lengths.io.push.valid) init True
    val passes = comes && empty && !some
    val moves  = !some || io.frame.fire
    val next   = passes ? whole | lengths.io.pop.payload
    when(moves) {
      some   := lengths.io.pop.valid || passes
      length := next
    }
  }
  // No stream operator fits: rows come without a handshake, and `lengths` always has room.
  lengths.io.push.valid   := comes && !oldest.passes
  lengths.io.push.payload := whole
  lengths.io.pop.ready    := oldest.moves
  when(io.row.valid) {
    head := head + 1
    when(io.row.last) { start := head + 1 }
  }
  when(io.forget) { head := start }

  io.frame.valid   := oldest.some
  io.frame.payload := oldest.length.resize(p.frameWidth).asUInt
  io.marked        := oldest.moves ? oldest.next.msb | oldest.length.msb
  val taken = ((io.frame.payload + (HardBlock.BeatBytes - 1)) >> 5).resize(p.rowWidth + 1)
  io.place := tail.resized
  when(io.frame.fire) {
    tail   := tail + taken
    origin := tail
    kept   := origin
  }
  when(io.rest) {
    origin := tail
    kept   := tail
  }

  // The rows are a power of two, so this is their number less those that are kept.
  val free = RegNext((kept - head) ^ p.rows) init p.rows
  io.free := free
  val word = RegNext(memory.readSync(io.read).andMask(io.shows))
  io.data := word

  lengths.io.flush := io.clear
  when(io.clear) {
    oldest.some := False
    Seq(head, start, tail, origin, kept).foreach(_ := 0)
  }
}
