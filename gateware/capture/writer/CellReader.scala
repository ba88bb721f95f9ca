// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.writer

import spinal.core._
import spinal.lib._

import lanebox.capture.staging.Staging
import lanebox.capture.vocabulary.CaptureParam
import lanebox.vocabulary.HardBlock

/** Reads the rows of a transfer from the staging memory, one in each cycle, into a queue.
  *
  * `goes` passes each transfer on when the reading of its data begins. The transfer's cell is
  * released with its last read, if the transfer frees it.
  */
case class CellReader(p: CaptureParam) extends Component {
  val io = new Bundle {
    val transfer = slave(Stream(TransferChooser.Transfer(p)))
    val read     = master(Flow(UInt(p.rowWidth bits)))
    // The row of the staging memory that `read` addressed three cycles before.
    val data    = in Bits (HardBlock.DataWidth bits)
    val release = master(Flow(Staging.UsedCell(p)))
    val goes    = master(Stream(TransferChooser.Transfer(p)))
    val rows    = master(Stream(Bits(HardBlock.DataWidth bits)))
  }
  val Latency  = 3
  val transfer = io.transfer.payload

  val queue = StreamFifo(Bits(HardBlock.DataWidth bits), 32, latency = 1)
  queue.logic.ram.addAttribute("ram_style", "distributed")
  // No stream operator fits: one transfer becomes many reads. `room` is a cycle late, so it leaves
  // space for all reads under way and for one more.
  val room = RegNext(queue.io.availability > Latency + 1) init False

  val first = RegInit(True)
  val row   = Reg(UInt(log2Up(CaptureParam.CellRows) bits))
  val now   = first ? transfer.first | row
  val last  = transfer.line || now === transfer.last
  val reads = io.transfer.valid && !transfer.line && room && (!first || io.goes.ready)
  val steps = reads || (io.transfer.valid && transfer.line && io.goes.ready)
  when(steps) {
    row   := now + 1
    first := last
  }
  // No stream operator fits: one transfer becomes many row addresses and one entry of `goes`.
  io.transfer.ready := steps && last
  io.read.valid     := reads
  io.read.payload   := transfer.cell @@ now
  io.goes.valid     := steps && first
  io.goes.payload   := transfer

  val free = Flow(Staging.UsedCell(p))
  free.valid         := io.transfer.fire && transfer.frees
  free.cell          := transfer.cell
  free.payload.queue := transfer.queue
  io.release << free.m2sPipe()

  queue.io.push.valid   := Delay(reads, Latency, init = False)
  queue.io.push.payload := io.data
  io.rows << queue.io.pop
}
