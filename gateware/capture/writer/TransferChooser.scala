// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.writer

import spinal.core._
import spinal.lib._

import lanebox.capture.{CaptureParam, Staging}
import lanebox.vocabulary.HardBlock

/** Chooses the next write to host memory: a full cell, else complete records that have waited for
  * `patience` cycles, else the status line.
  *
  * A write of part of a cell begins at a multiple of 64 bytes and ends with a record. The cell's
  * next write begins with the 64 bytes in which the earlier write ended, and so writes them again
  * with more data. All writes are therefore aligned to 64 bytes, and only their last 64 bytes may
  * be partial.
  *
  * The status line says up to which position host memory holds complete records. It is sent when
  * that position has changed and nothing else waits, or after 16 KiB of data since the last line.
  */
case class TransferChooser(p: CaptureParam) extends Component {
  val io = new Bundle {
    val patience      = in UInt (24 bits)
    val statusAddress = in UInt (64 bits)
    val now           = in UInt (64 bits)
    val lost          = in UInt (64 bits)
    val clear         = in Bool ()
    val open          = in(Staging.OpenCell(p))
    val full          = slave(Stream(Staging.FullCell(p)))
    val pageValid     = in Bool ()  // `page` has the host address of the next cell, in pages.
    val page          = in UInt (52 bits)
    val advance       = out Bool ()
    val transfer      = master(Stream(TransferChooser.Transfer(p)))
    val busy          = in Bool ()  // CellReader has not begun to read a transfer that was chosen.
    val line          = out Bits (HardBlock.DataWidth bits)
    val lineSent      = in Bool ()
    val position      = out UInt (64 bits)
    val idle          = out Bool () // All data and the status line have been sent on.
  }

  /** Keeps how much of the oldest cell in the staging memory has been sent to the host. */
  val sent = new Area {
    val whole = Reg(Staging.WholePart())
    whole.units init 0
    whole.records init 0
    val cells = Reg(UInt(p.cellWidth + 1 bits)) init 0
    val row   = (whole.units >> 3).resize(6) @@ U(0, 1 bit)
  }

  val waiting = new Area {
    val isOpen = io.open.sequence === sent.cells
    val whole  = isOpen && io.open.whole.units =/= sent.whole.units
    val age    = Reg(UInt(24 bits)) init 0
    when(!age.andR) { age := age + 1 }
    val sends = io.transfer.fire && !io.transfer.line
    when(!whole || sends) { age := 0 }
    val due = RegNext(age >= io.patience && !sends) init False
    // The part of the open cell that may be sent is registered, so it is a cycle old. If the cell
    // has become full in that cycle, only the part is sent now, and the rest with the next
    // transfer.
    val ready = RegNext(whole && due && !sends) init False
    val open  = RegNext(io.open)
  }

  val report = new Area {
    val pages    = Reg(UInt(52 bits)) init 0 // Full cells (4 KiB each) sent since `clear`.
    val position = Reg(UInt(64 bits)) init 0
    val records  = Reg(UInt(64 bits)) init 0
    val changed  = RegInit(False)
    val pending  = RegInit(False)            // A status line was chosen and has not been sent yet.
    // Full cells sent since the last status line, at most CellsPerLine.
    val cells = Reg(UInt(3 bits)) init 0
    val often = cells >= CaptureParam.CellsPerLine
  }

  val choose = new Area {
    val canData = io.pageValid
    val full    = io.full.valid && canData
    val partial = waiting.ready && canData
    val canLine = report.changed && !report.pending
    val line    = canLine && (report.often || !io.full.valid && !waiting.ready && !io.busy)
    val data    = !line && (full || partial)
    val isFull  = io.full.valid

    val whole  = isFull ? io.full.whole | waiting.open.whole
    val end    = isFull ? U(CaptureParam.CellUnits, 10 bits) | waiting.open.whole.units
    val dwords = (end @@ U(0, 1 bit)) - (sent.row @@ U(0, 3 bits))
    val moves  = whole.units =/= sent.whole.units && whole.units =/= 0
  }
  import choose.{data, isFull, line, whole}

  val transfer = TransferChooser.Transfer(p)
  transfer.line    := line
  transfer.cell    := isFull ? io.full.cell | waiting.open.cell
  transfer.first   := sent.row
  transfer.last    := ((choose.end - 1) >> 2).resized
  transfer.frees   := data && isFull
  transfer.address := line ? io.statusAddress | (io.page @@ sent.row @@ U(0, 5 bits))
  transfer.dwords  := line ? U(HardBlock.Dwords, 11 bits) | choose.dwords
  // No stream operator fits: only a transfer of a full cell takes the cell's entry.
  io.transfer.valid   := line || data
  io.transfer.payload := transfer
  io.full.ready       := io.transfer.ready && data && isFull

  val fired = io.transfer.fire
  io.advance := fired && data && isFull
  when(fired && data) {
    sent.whole := whole
    when(isFull) {
      sent.whole.units   := 0
      sent.whole.records := 0
      sent.cells         := sent.cells + 1
      report.pages       := report.pages + 1
    }
    when(isFull && !report.often) { report.cells := report.cells + 1 }
    when(choose.moves) {
      report.changed  := True
      report.position := (report.pages @@ U(0, 12 bits)) + (whole.units @@ U(0, 3 bits))
      report.records  := report.records + (whole.records - sent.whole.records)
    }
  }
  when(io.lineSent) { report.pending := False }
  when(fired && line) {
    report.changed := False
    report.pending := True
    report.cells   := 0
  }
  when(io.clear) {
    report.pages    := 0
    report.position := 0
    report.records  := 0
    report.changed  := False
  }
  io.position := report.position
  val content = RegNextWhen(
    io.now.asBits ## io.lost.asBits ## report.records.asBits ## report.position.asBits,
    fired && line
  )
  io.line := content
  io.idle := !io.full.valid && waiting.isOpen && !waiting.whole &&
    !report.changed && !report.pending
}

object TransferChooser {

  /** A write to host memory: rows of one cell of the staging memory, or the status line. */
  case class Transfer(p: CaptureParam) extends Bundle {
    val line    = Bool()
    val cell    = UInt(p.cellWidth bits)
    val first   = UInt(log2Up(CaptureParam.CellRows) bits)
    val last    = UInt(log2Up(CaptureParam.CellRows) bits)
    val frees   = Bool() // The staging memory's cell can be reused after this transfer.
    val address = UInt(64 bits)
    val dwords  = UInt(11 bits)
  }
}
