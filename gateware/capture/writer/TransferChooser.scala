// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.writer

import spinal.core._
import spinal.lib._

import lanebox.capture.staging.Staging
import lanebox.capture.vocabulary.{CaptureParam, QueueState}
import lanebox.vocabulary.{HardBlock, Numbers}

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
  *
  * With several queues WriterTurn chooses the queue. The status line of a queue does not wait for
  * data of other queues. A line that reports a part of a cell goes before newer records.
  */
case class TransferChooser(p: CaptureParam) extends Component {
  val io = new Bundle {
    val patience = in UInt (24 bits)
    // The queue for which a write is chosen. `statusAddress`, `lost`, `open`, `page` and `advance`
    // belong to this queue. `changes` says that `queue` is another one in the next cycle.
    val queue         = out UInt (p.queueWidth bits)
    val changes       = out Bool ()
    val select        = in UInt (p.queueWidth bits) // The queue whose `position` is shown.
    val stirs         = in Bool ()                  // Data enters the staging memory.
    val statusAddress = in UInt (64 bits)
    val now           = in UInt (64 bits)
    val lost          = in UInt (64 bits)
    val clear         = in Bool ()
    val open          = in(Staging.OpenCell(p))
    val full          = slave(Stream(Staging.FullCell(p)))
    val pageValid = in Bool ()  // `page` has the host address of the next cell, in pages.
    val page      = in UInt (52 bits)
    val advance   = out Bool ()
    val transfer  = master(Stream(TransferChooser.Transfer(p)))
    val busy      = in Bool ()  // CellReader has not begun to read a transfer that was chosen.
    val line      = out Bits (HardBlock.DataWidth bits)
    val lineOf    = out UInt (p.queueWidth bits)
    val lineSent  = in Bool ()
    val position  = out UInt (64 bits)
    val idle      = out Bool () // All data and the status line have been sent on.
  }

  val fired   = io.transfer.fire
  val turn    = p.several generate WriterTurn(p)
  val queue   = if (p.several) turn.io.queue else U(0, 0 bits)
  val never   = QueueState.Walk(p.queueWidth, False)
  val cleared = QueueState.Walk(p.queueWidth, io.clear)
  io.queue   := queue
  io.changes := (if (p.several) turn.io.changes else False)

  /** Keeps how much of the queue's oldest cell in the staging memory has been sent to the host. */
  val sent = new Area {
    case class Sent() extends Bundle {
      val whole = Staging.WholePart()
      val cells = UInt(p.cellWidth + 1 bits)
    }
    val state = QueueState(Sent(), queue, fired, never)(QueueState.zero(Sent()))
    val whole = state.now.whole
    val cells = state.now.cells
    val row   = (whole.units >> 3).resize(6) @@ U(0, 1 bit)
  }

  val waiting = new Area {
    val isOpen = io.open.sequence === sent.cells
    val whole  = isOpen && io.open.whole.units =/= sent.whole.units
    val sends  = fired && !io.transfer.line
    val age    = !p.several generate (Reg(UInt(24 bits)) init 0)
    val ages   = p.several generate TransferAge(p, queue, whole, sends, io.patience)
    val isDue  = if (p.several) ages.due else age >= io.patience
    val due    = RegNext(isDue && !sends) init False
    // The part of the open cell that may be sent is registered, so it is a cycle old. If the cell
    // has become full in that cycle, only the part is sent now, and the rest with the next
    // transfer.
    val ready = RegNext(whole && due && !sends) init False
    val open  = RegNext(io.open)
    val next  = RegNext(isOpen) init False

    if (!p.several) {
      when(!age.andR) { age := age + 1 }
      when(!whole || sends) { age := 0 }
    }
  }

  val report = new Area {
    case class Due() extends Bundle {
      val changed = Bool()
      // Full cells sent since the last status line, at most CellsPerLine.
      val cells = UInt(3 bits)
    }
    val state = QueueState(Due(), queue, fired, cleared)(QueueState.zero(Due()))
    // A queue's first look is several cycles behind its turn's begin, and a write ends its turn.
    val now  = if (p.several) RegNext(state.now) else state.now
    val next = state.next

    // These counts have own states, so that they are written only when they change. They are read
    // two cycles after that at the earliest.
    val fills, moves = Bool()
    private def count(bits: Int, writes: Bool) =
      QueueState(UInt(bits bits), queue, writes, cleared, late = true)(_ => U(0, bits bits))
    val pages    = count(52, fills) // Full cells (4 KiB each) sent since `clear`.
    val position = count(64, moves)
    val records  = count(64, moves)

    val pending = RegInit(False) // A status line was chosen and has not been sent yet.
    val often   = now.cells >= CaptureParam.CellsPerLine
  }

  val choose = new Area {
    // With several queues: the registers of `waiting` and `page` are about the queue that has its
    // turn.
    val looked  = if (p.several) io.pageValid && turn.io.valid else True
    val canData = io.pageValid
    // `isFull` is registered, since the path is long. `pageValid` is low for some cycles after a
    // full cell has left or the turn has changed. So `isFull` is about the present cell and queue
    // when it is used.
    val isOwn   = if (p.several) io.full.payload.queue === queue else True
    val isFull  = RegNext(io.full.valid && isOwn) init False
    val full    = isFull && canData
    val partial = waiting.ready && canData
    // With one queue, a status line waits for newer records that can be sent at once. With several
    // queues it does not: a queue may have newer records each time that it gets its turn, so the
    // line would wait for 16 KiB of data.
    val newer = if (p.several) False else waiting.ready
    // With several queues, a line waits while full cells of its queue wait behind those of other
    // queues. But it does not wait if no full cell was sent since the last line.
    val rests = if (p.several) waiting.next || report.now.cells === 0 else !io.busy
    val owed  = report.now.changed && (report.often || !isFull && !newer && rests)
    val line  = owed && !report.pending
    // Only one status line is under way at a time. A queue whose line is due keeps its turn until
    // the line under way has left. Otherwise the lines of other queues could always come first.
    val holds = if (p.several) owed && report.pending else False
    val data  = !line && !holds && (full || partial)

    val whole  = isFull ? io.full.whole | waiting.open.whole
    val end    = isFull ? U(CaptureParam.CellUnits, 10 bits) | waiting.open.whole.units
    val dwords = (end @@ U(0, 1 bit)) - (sent.row @@ U(0, 3 bits))
    val moves  = whole.units =/= sent.whole.units && whole.units =/= 0
  }
  import choose.{data, isFull, line, whole}

  val transfer = TransferChooser.Transfer(p)
  transfer.line    := line
  transfer.queue   := queue
  transfer.cell    := isFull ? io.full.cell | waiting.open.cell
  transfer.first   := sent.row
  transfer.last    := ((choose.end - 1) >> 2).resized
  transfer.frees   := data && isFull
  transfer.address := line ? io.statusAddress | (io.page @@ sent.row @@ U(0, 5 bits))
  transfer.dwords  := line ? U(HardBlock.Dwords, Numbers.DwordCountWidth bits) | choose.dwords
  // No stream operator fits: only a transfer of a full cell takes the cell's entry.
  io.transfer.valid   := choose.looked && (line || data)
  io.transfer.payload := transfer
  io.full.ready       := io.transfer.ready && choose.looked && data && isFull

  io.advance := fired && data && isFull
  val next = report.next
  when(data) {
    sent.state.next.whole := whole
    when(isFull) {
      sent.state.next.whole.units   := 0
      sent.state.next.whole.records := 0
      sent.state.next.cells         := sent.cells + 1
    }
    when(isFull && !report.often) { next.cells := report.now.cells + 1 }
    when(choose.moves) { next.changed := True }
  }
  report.fills         := fired && data && isFull
  report.moves         := fired && data && choose.moves
  report.pages.next    := report.pages.now + 1
  report.position.next := (report.pages.now @@ U(0, 12 bits)) + (whole.units @@ U(0, 3 bits))
  report.records.next  := report.records.now + (whole.records - sent.whole.records)
  when(io.lineSent) { report.pending := False }
  when(line) {
    next.changed := False
    next.cells   := 0
  }
  when(fired && line) { report.pending := True }
  val position = report.position.of(io.select)
  val shown    = if (p.several) RegNext(position) else position
  io.position := shown
  // The counts are right in the cycle after the line was chosen, and the queue is still the same.
  val chosen = RegNext(fired && line) init False
  val content = RegNextWhen(
    io.now.asBits ## io.lost.asBits ## report.records.now.asBits ## report.position.now.asBits,
    chosen
  )
  io.line   := content
  io.lineOf := RegNextWhen(queue, fired && line)

  val emptied = waiting.isOpen && !waiting.whole && !report.now.changed
  val quiet   = !io.full.valid && !report.pending

  /** Counts the turns in a row in which the queue had nothing left to send. `all` needs one turn
    * more than there are queues: the first turn may have come too early to see new data.
    */
  val rounds = p.several generate new Area {
    turn.io.full.valid   := io.full.valid
    turn.io.full.payload := io.full.payload.queue
    turn.io.done         := choose.looked && (fired || !line && !data && !choose.holds)

    val turns = Reg(UInt(p.queueWidth + 1 bits)) init 0
    val all   = turns > p.queues
    when(turn.io.done && !all) { turns := turns + 1 }
    when(turn.io.done && !emptied || fired || !quiet || io.stirs) { turns := 0 }
  }
  io.idle := quiet && (if (p.several) rounds.all else emptied)
}

object TransferChooser {

  /** A write to host memory: rows of one cell of the staging memory, or the status line. */
  case class Transfer(p: CaptureParam) extends Bundle {
    val line    = Bool()
    val queue   = UInt(p.queueWidth bits)
    val cell    = UInt(p.cellWidth bits)
    val first   = UInt(log2Up(CaptureParam.CellRows) bits)
    val last    = UInt(log2Up(CaptureParam.CellRows) bits)
    val frees   = Bool() // The staging memory's cell can be reused after this transfer.
    val address = UInt(64 bits)
    val dwords  = UInt(Numbers.DwordCountWidth bits)
  }
}
