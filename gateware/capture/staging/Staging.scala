// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.staging

import spinal.core._
import spinal.lib._

import lanebox.capture.record.RecordBuilder
import lanebox.capture.vocabulary.{CaptureParam, QueueState}
import lanebox.vocabulary.{FreeNumbers, HardBlock}

/** The staging memory, in which blocks wait to be written to the host. It consists of cells of 4
  * KiB, which are filled one after the other. Each queue fills a cell of its own.
  *
  * A cell is a unit of transfer and not of format, so blocks cross cells. Each cell's entry says
  * where the last block that ends in the cell ends: 0 if none does. The bytes that `open` and
  * `full` report can be read at once.
  *
  * MbufPlacer has reserved the cells for every beat that comes.
  */
case class Staging(p: CaptureParam) extends Component {
  val io = new Bundle {
    val beats = slave(Flow(RecordBuilder.BlockBeat(p.queueWidth)))
    // `open` is the open cell of the queue that `look` named in the cycle before.
    val look    = in UInt (p.queueWidth bits)
    val open    = out(Staging.OpenCell(p))
    val full    = master(Stream(Staging.FullCell(p)))
    val release = slave(Flow(Staging.UsedCell(p)))
    val freed   = master(Flow(UInt(p.queueWidth bits))) // The queue that may use one more cell.
    val read    = slave(Flow(UInt(p.rowWidth bits)))
    val data    = out Bits (HardBlock.DataWidth bits)
  }
  import Staging._

  val memory = StagingMemory(p)
  // A cell for each queue is in use at reset: it is filled first.
  val free = FreeNumbers(p.cells, first = p.queues)
  memory.io.read << io.read
  io.data := memory.io.data
  free.io.free << io.release.translateWith(io.release.cell)
  io.freed.valid   := Delay(io.release.valid, ReleaseLatency, init = False)
  io.freed.payload := Delay(io.release.payload.queue, ReleaseLatency)

  /** The cell that the beat's queue fills, and how far it is filled. */
  val current = new Area {
    val queue  = io.beats.payload.queue
    val walk   = QueueState.Walk(p.queueWidth, False)
    val state  = QueueState(Filling(p), queue, io.beats.valid, walk)(Filling.begin(p))
    val cell   = state.now.open.cell
    val offset = state.now.offset
    val whole  = state.now.open.whole
  }

  val write = new Area {
    val row       = current.offset >> 2
    val rowBehind = row + 1
    val wrap      = row.andR
    memory.io.write.valid  := io.beats.valid
    memory.io.write.row    := current.cell @@ row
    memory.io.write.behind := (wrap ? free.io.take.payload | current.cell) @@ rowBehind
    memory.io.write.turn   := current.offset(1 downto 0)
    memory.io.write.units  := io.beats.units
    memory.io.write.data   := io.beats.data
  }

  /** Moves the staging memory's write position past the beat, if need be into the next cell. */
  val move = new Area {
    val beat  = io.beats.payload
    val end   = current.offset +^ beat.units
    val fills = io.beats.valid && end.msb
    // `inside`: the beat ends inside the present cell, or where the cell ends. A block that ends
    // with such a beat is counted for the present cell, any other block for the next cell.
    val inside = !end.msb || end.resize(log2Up(CaptureParam.CellUnits)) === 0
    val ended  = WholePart()
    ended := current.whole
    when(io.beats.valid && beat.last && inside) {
      ended.units   := end
      ended.records := current.whole.records + beat.packet.asUInt
    }
    val next = current.state.next
    next.open.whole := ended
    next.offset     := end.resized
    when(fills) {
      next.open.cell          := free.io.take.payload
      next.open.sequence      := current.state.now.open.sequence + 1
      next.open.whole.units   := 0
      next.open.whole.records := 0
      when(beat.last && !inside) {
        next.open.whole.units   := end.resize(log2Up(CaptureParam.CellUnits)).resized
        next.open.whole.records := beat.packet.asUInt.resized
      }
    }
    // No stream operator fits: a cell is taken when a beat fills the one before.
    free.io.take.ready := fills
    assert(!fills || free.io.take.valid, "a beat whose cell was not reserved")
  }

  // The staging memory is written a cycle after the beat, and can be read another cycle later. So
  // the entry of a full cell is reported some cycles late.
  val entries = StreamFifo(FullCell(p), p.cells)
  val entry   = Flow(FullCell(p))
  entry.valid := move.fills
  entry.queue := current.queue
  entry.cell  := current.cell
  entry.whole := move.ended
  // The FIFO has room for all cells, so it is never full. The path from TransferChooser must end
  // before the FIFO. Cells fill so slowly that half the rate of entries is enough.
  entries.io.push << entry.m2sPipe().toStream
  io.full << entries.io.pop.halfPipe()

  val looked = current.state.of(io.look)
  val shown  = RegNext(looked.open)
  io.open := shown
}

object Staging {

  /** Cycles from `release` until the cell can be filled again. */
  val ReleaseLatency = 4

  /** The part of a cell (4 KiB) of the staging memory that holds complete blocks. */
  case class WholePart() extends Bundle {
    // Units of 8 bytes up to the end of the last block that ends in the cell.
    val units   = UInt(log2Up(CaptureParam.CellUnits) + 1 bits)
    val records = UInt(8 bits)
  }

  /** The cell of the staging memory that a queue fills. */
  case class OpenCell(p: CaptureParam) extends Bundle {
    val cell = UInt(p.cellWidth bits)
    // The number of the queue's cells before this one, modulo 2^(bits of this field).
    val sequence = UInt(p.cellWidth + 1 bits)
    val whole    = WholePart()
  }

  /** A cell of the staging memory that is full. Its last block may go on in the next cell. */
  case class FullCell(p: CaptureParam) extends Bundle {
    val queue = UInt(p.queueWidth bits)
    val cell  = UInt(p.cellWidth bits)
    val whole = WholePart()
  }

  /** A cell that a queue gives back. */
  case class UsedCell(p: CaptureParam) extends Bundle {
    val queue = UInt(p.queueWidth bits)
    val cell  = UInt(p.cellWidth bits)
  }

  /** The cell that a queue fills, and the units of 8 bytes that were written to it. */
  case class Filling(p: CaptureParam) extends Bundle {
    val open   = OpenCell(p)
    val offset = UInt(log2Up(CaptureParam.CellUnits) bits)
  }
  object Filling {

    /** At reset cell n belongs to queue n. */
    def begin(p: CaptureParam)(queue: UInt): Filling = {
      val first = Filling(p)
      first.open.cell          := queue.resized
      first.open.sequence      := 0
      first.open.whole.units   := 0
      first.open.whole.records := 0
      first.offset             := 0
      first
    }
  }
}
