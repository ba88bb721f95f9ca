// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.writer

import spinal.core._
import spinal.lib._

import lanebox.capture.vocabulary.CaptureParam
import lanebox.vocabulary.{HardBlock, Request}

/** Makes each transfer a request to host memory, in the order of the transfers.
  *
  * Data may be written with relaxed ordering. The status line never is: it must not pass the data
  * that it reports.
  */
case class RequestFormer(p: CaptureParam) extends Component {
  val io = new Bundle {
    val relaxed   = in Bool ()
    val transfer  = slave(Stream(TransferChooser.Transfer(p)))
    val rows      = slave(Stream(Bits(HardBlock.DataWidth bits)))
    val line      = in Bits (HardBlock.DataWidth bits)
    val lineSent  = out Bool () // The status line enters the register in front of `request`.
    val lineWaits = out Bool () // The status line is in the register in front of `request`.
    val request   = master(Stream(Fragment(Request())))
    val idle      = out Bool ()
  }
  val transfer = io.transfer.queue(4).m2sPipe()
  val row      = Reg(UInt(log2Up(CaptureParam.CellRows) bits)) init 0

  // No stream operator fits: a transfer joins many rows, or none if it is the status line.
  val beat = Stream(Fragment(Request()))
  beat.valid      := transfer.valid && (transfer.line || io.rows.valid)
  beat.last       := transfer.line || row === transfer.last - transfer.first
  beat.write      := True
  beat.address    := transfer.address
  beat.dwords     := transfer.dwords
  beat.firstBe    := B"1111"
  beat.lastBe     := B"1111"
  beat.attributes := RequestFormer.Relaxed(io.relaxed && !transfer.line)
  beat.context    := 0
  beat.data       := transfer.line ? io.line | io.rows.payload
  // No stream operator fits: each beat of a request takes a row of the staging memory, and the last
  // beat takes the transfer. The status line has its own data, so it takes no row.
  io.rows.ready  := beat.fire && !transfer.line
  transfer.ready := beat.fire && beat.last
  when(beat.fire) { row := beat.last ? U(0) | row + 1 }

  io.lineSent := beat.fire && transfer.line
  io.request << beat.m2sPipe()

  val isLine = RegNextWhen(transfer.line, beat.fire) init False
  io.lineWaits := io.request.valid && isLine

  io.idle := !transfer.valid && !io.request.valid
}

object RequestFormer {

  /** Returns the PCIe attributes of a request: only relaxed ordering may be set. */
  def Relaxed(relaxed: Bool): Bits = B"0" ## relaxed ## B"0"
}
