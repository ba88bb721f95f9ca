// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.record

import spinal.core._
import spinal.lib._

import lanebox.capture.{Accounts, CaptureParam}
import lanebox.vocabulary.Frames

/** Decides for each frame whether there is room for its record, and closes MBUFs.
  *
  * A record lies in one MBUF as a whole. If the next record does not fit, the space that is left in
  * the MBUF gets fillers of up to 4 KiB, and then the seal. The seal's room is kept free from the
  * beginning, and an MBUF is begun only if the ring has room for all of it. So a seal waits for
  * cells of the staging memory only, and these become free without the host's help.
  *
  * A frame without room is lost and counted; the next record of its port has the number of frames
  * that were lost before it. With `lossless` the frame waits.
  *
  * `seal` closes the MBUF now. With `stopped` no more frames will come, and the last MBUF is
  * closed. An MBUF without a record is never closed.
  *
  * A frame takes three cycles in MbufPlacer. RecordBuilder takes as long for the record of a frame
  * of 64 bytes.
  */
case class MbufPlacer(p: CaptureParam) extends Component {
  val io = new Bundle {
    val mbufLog2 = in UInt (5 bits)
    val lossless = in Bool ()
    val seal     = in Bool ()
    val stopped  = in Bool ()
    // Goes back to the first MBUF of the ring. Allowed only while idle.
    val clear   = in Bool ()
    val now     = in UInt (64 bits)
    val known   = in Bool ()
    val allowed = in Bool ()
    val advance = out Bool ()
    val freed   = in Bool ()         // A cell (4 KiB) of the staging memory has become free.
    val frames  = slave(Stream(RecordSizer.SizedFrame()))
    val blocks  = master(Stream(Block()))
    val fates   = master(Stream(Accounts.FrameFate()))
    val lost    = out UInt (64 bits) // Frames lost since `clear`, of any cause.
    val closed  = out Bool ()        // The last MBUF is sealed, and no other has been begun.
  }
  import CaptureParam._

  /** The MBUF (part of the capture ring) that is being filled, and how much of it is in use. */
  val mbuf = new Area {
    val usable = RegNext((U(1, MbufWidth bits) |<< (io.mbufLog2 - 3)) - SealUnits)
    val fill   = Reg(UInt(MbufWidth bits)) init 0
    // Units of 8 bytes in the MBUF that are free, not counting the seal's room.
    val left   = RegNext(usable - fill)
    val begun  = RegInit(False)
    val number = Reg(UInt(64 bits)) init 0
  }

  /** Counts the cells (4 KiB) of the staging memory that can be given out. The cell that is being
    * filled counts as in use, even if it is empty.
    */
  val cells = new Area {
    val free                    = Reg(UInt(p.cellWidth + 1 bits)) init p.cells - 1
    val most                    = RegNext((free > 15) ? U(15, 4 bits) | free.resized) init 0
    def room(units: UInt): Bool = crossed(units) <= most
    def crossed(units: UInt): UInt =
      ((mbuf.fill.resize(log2Up(CellUnits)) +^ units) >> log2Up(CellUnits)).resize(4)
  }

  val closing = new Area {
    val active = RegInit(False)
    val reason = Reg(Block.SealReason()) init Block.SealReason.full
    val asked  = RegInit(False)
    val seals  = RegNext(mbuf.left <= 1)
    val units = RegNext(
      (mbuf.left <= 1) ? (mbuf.left + SealUnits).resize(BlockWidth) |
        ((mbuf.left > FillerUnits) ? U(FillerUnits, BlockWidth bits) | mbuf.left.resize(BlockWidth))
    )
    when(io.seal && mbuf.begun) { asked := True }
  }

  /** Counts for each port the frames that were lost since the port's last record. */
  val drops = new Area {
    val counts  = Mem(UInt(32 bits), Frames.Ports)
    val pending = Reg(Bits(Frames.Ports bits)) init 0
    val port    = io.frames.head.port
    val some    = pending(port)
    val before  = some ? counts.readAsync(port) | U(0)
  }

  // A decision changes the counts of room on which the next decision depends. They are right again
  // in the third cycle after it, or in the fourth if its block closes an MBUF.
  val decides = Bool()
  val since   = Reg(UInt(2 bits)) init 0
  when(!since.andR) { since := since + 1 }
  when(decides) { since := 0 }
  val settled = RegNext(since >= 1 && !decides) init False
  val steady  = RegNext(since >= 2 && !decides) init False

  /** Cycle 1 of a frame in MbufPlacer: finds how long its record is. Earlier losses make it longer.
    */
  val measure = new Area {
    val valid    = RegNext(io.frames.valid && !decides) init False
    val counting = RegNext(drops.some)
    val earlier  = RegNext(drops.before)
    val units    = RegNext(drops.some ? io.frames.counting | io.frames.plain)
  }

  /** Cycle 2 of a frame in MbufPlacer: finds whether the frame's record has room in MBUF, ring and
    * staging memory. A cycle later the room may be larger, but not smaller.
    */
  val compare = new Area {
    val good  = !io.frames.bad
    val fits  = good && measure.units.resize(MbufWidth) <= mbuf.left
    val ring  = mbuf.begun || io.allowed
    val known = mbuf.begun || io.known
    val room  = cells.room(measure.units)
    val loses = !io.lossless

    val valid   = RegNext(measure.valid && !decides) init False
    val isGood  = RegNext(good)
    val tooLong = RegNext(good && !fits)
    val record  = RegNext(fits && known && ring && room)
    val noRing  = RegNext(fits && known && !ring && loses)
    val noCell  = RegNext(fits && known && ring && !room && loses)
    val closes  = RegNext(cells.room(closing.units))
  }

  /** Cycle 3 of a frame in MbufPlacer: decides whether it is recorded, lost or must wait. Blocks
    * that close the MBUF come before the frame.
    */
  val decide = new Area {
    val ready  = io.blocks.ready && io.fates.ready
    val seal   = settled && mbuf.begun && (closing.asked || io.stopped)
    val open   = compare.valid && !closing.active && !seal
    val begin  = !closing.active && seal || open && compare.tooLong
    val close  = closing.active && steady && compare.closes
    val stuck  = closing.active && steady && !compare.closes && compare.valid && compare.isGood
    val others = compare.valid && !compare.isGood && !begin && !close

    val begins  = ready && begin
    val closes  = ready && close
    val records = ready && open && compare.record
    val noRing  = ready && open && compare.noRing
    val noCell  = ready && (open && compare.noCell || stuck && compare.loses)
    val bad     = ready && others
    val lost    = noRing || noCell
    val takes   = records || bad || lost
  }
  import decide.{begins, closes, lost, records, takes}
  decides := begins || closes || takes
  // No stream operator fits: a frame becomes no block, one block, or waits while others go out.
  io.frames.ready := takes

  when(begins) {
    closing.active := True
    closing.reason := Block.SealReason.full
    when(decide.seal) {
      closing.reason := closing.asked ? Block.SealReason.asked | Block.SealReason.stopped
    }
  }
  val size  = closes ? closing.units | measure.units
  val seals = closes && closing.seals
  val uses  = closes || records
  when(uses) {
    mbuf.fill  := mbuf.fill + size
    mbuf.begun := True
  }
  when(seals) {
    mbuf.fill      := 0
    mbuf.begun     := False
    mbuf.number    := mbuf.number + 1
    closing.active := False
    closing.asked  := False
  }
  io.advance := seals
  io.closed  := !mbuf.begun

  val crossed = uses ? cells.crossed(size) | U(0, 4 bits)
  cells.free := cells.free - crossed + io.freed.asUInt

  drops.counts.write(drops.port, measure.earlier + 1, lost)
  when(lost) { drops.pending(drops.port) := True }
  when(records) { drops.pending(drops.port) := False }

  val counts = new Area {
    val original             = RegNext(io.frames.head.original)
    val record               = RegNext(records) init False
    val delivered, bytes     = Reg(UInt(64 bits)) init 0
    val lostRing, lostNoCell = Reg(UInt(32 bits)) init 0
    val lost                 = Reg(UInt(64 bits)) init 0
    when(record) {
      delivered := delivered + 1
      bytes     := bytes + original
    }
    when(RegNext(decide.noRing) init False) { lostRing := lostRing + 1 }
    when(RegNext(decide.noCell) init False) { lostNoCell := lostNoCell + 1 }
    when(RegNext(decide.lost) init False) { lost := lost + 1 }
  }
  io.lost := counts.lost

  when(io.clear) {
    mbuf.number   := 0
    closing.asked := False
    drops.pending := 0
    for (count <- Seq(counts.delivered, counts.bytes, counts.lost)) count := 0
    for (count <- Seq(counts.lostRing, counts.lostNoCell)) count          := 0
  }

  io.blocks.valid := records || lost || closes
  val block       = io.blocks.payload
  val closingKind = closing.seals ? Block.Kind.seal | Block.Kind.filler
  val frameKind   = lost ? Block.Kind.lost | Block.Kind.packet
  val kind        = closes ? closingKind | frameKind
  block.kind            := kind
  block.units           := size
  block.head            := io.frames.head
  block.dwords          := io.frames.dwords
  block.flagged         := io.frames.flagged
  block.counting        := measure.counting
  block.drops           := measure.earlier
  block.seal.reason     := closing.reason
  block.seal.number     := mbuf.number
  block.seal.time       := io.now
  block.seal.records    := counts.delivered
  block.seal.bytes      := counts.bytes
  block.seal.lostRing   := counts.lostRing
  block.seal.lostNoCell := counts.lostNoCell

  io.fates.valid := takes
  io.fates.port  := io.frames.head.port
  io.fates.bytes := io.frames.head.original
  io.fates.fate  := Accounts.Fate.delivered
  when(decide.bad) { io.fates.fate := Accounts.Fate.bad }
  when(decide.noRing) { io.fates.fate := Accounts.Fate.lostRing }
  when(decide.noCell) { io.fates.fate := Accounts.Fate.lostNoCell }
}
