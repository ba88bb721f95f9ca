// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.record

import spinal.core._
import spinal.lib._

import lanebox.capture.accounts.Accounts
import lanebox.capture.vocabulary.{CaptureParam, QueueFlags, QueueState}
import lanebox.vocabulary.Frames

/** Decides for each frame whether there is room for its record, and closes MBUFs (parts of the
  * capture ring).
  *
  * A record lies in one MBUF as a whole. If the next record does not fit, the space that is left in
  * the MBUF gets fillers of up to 4 KiB, and then the seal. The seal's room is kept free from the
  * beginning, and an MBUF is begun only if the ring has room for all of it. So a seal waits for
  * cells of the staging memory only, and these become free without the host's help.
  *
  * A frame without room is lost and counted; the next record of its port has the number of frames
  * that were lost before it. With `lossless` the frame waits.
  *
  * `seal` closes a queue's MBUF now. With `stopped` no more frames will come, and the last MBUF of
  * each queue is closed. An MBUF without a record is never closed.
  *
  * A frame takes three cycles in MbufPlacer. RecordBuilder takes as long for the record of a frame
  * of 64 bytes.
  *
  * With several queues PlacerTurn says which queue is decided on: the queue of the frame that
  * waits, or a queue whose MBUF must be closed although no frame of that queue waits.
  */
case class MbufPlacer(p: CaptureParam) extends Component {
  val io = new Bundle {
    val mbufLog2 = in UInt (5 bits)
    val lossless = in Bool ()
    val seal     = slave(Flow(UInt(p.queueWidth bits)))
    val stopped  = in Bool ()
    // A pulse goes back to the first MBUF (part of the ring). Allowed only while idle.
    val clear = in Bool ()
    val now   = in UInt (64 bits)
    // The queue that is decided on: `known`, `allowed` and `advance` are about its ring.
    val queue   = out UInt (p.queueWidth bits)
    val known   = in Bool ()
    val allowed = in Bool ()
    val advance = out Bool ()
    // A cell (4 KiB) of the staging memory that the queue had has become free.
    val freed  = slave(Flow(UInt(p.queueWidth bits)))
    val quota  = p.several generate slave(Flow(QueueCells.Quota(p)))
    val frames = slave(Stream(RecordSizer.SizedFrame(p.queueWidth)))
    val blocks = master(Stream(Block(p.queueWidth)))
    val fates  = master(Stream(Accounts.FrameFate(p.queueWidth)))
    val lostOf = in UInt (p.queueWidth bits)
    val lost   = out UInt (64 bits) // Frames that queue `lostOf` lost since `clear`, of any cause.
    val closed = out Bool ()        // The last MBUFs are sealed, and no others have been begun.
  }
  import CaptureParam._

  // A decision changes the state of its queue, on which the queue's next decision depends. The
  // registers computed from this state are right in the third cycle after the decision, or in the
  // fourth if the decision is about a block that closes an MBUF. The same holds when another queue
  // gets its turn. The queue's flags are registered, too, and are right in the second cycle.
  val decides, acts = Bool()
  val seals, uses   = Bool()
  val size          = UInt(BlockWidth bits)
  val cleared       = QueueState.Walk(p.queueWidth, io.clear)

  val turn   = p.several generate PlacerTurn(p)
  val queue  = if (p.several) turn.io.queue else U(0, 0 bits)
  val framed = if (p.several) io.frames.valid && turn.io.framed else io.frames.valid
  val breaks = if (p.several) decides || turn.io.gives else decides
  io.queue := queue

  val since = Reg(UInt(2 bits)) init 0
  when(!since.andR) { since := since + 1 }
  when(breaks) { since := 0 }
  if (p.several) when(!framed && turn.io.framed) { since := 0 }
  val settled = RegNext(since >= 1 && !breaks) init False
  val steady  = RegNext(since >= 2 && !breaks) init False

  /** The MBUF (part of the capture ring) that the queue fills, and how much of it is in use. */
  val mbuf = new Area {
    val usable = RegNext((U(1, MbufWidth bits) |<< (io.mbufLog2 - 3)) - SealUnits)
    val filled = QueueState(UInt(MbufWidth bits), queue, uses, cleared)(_ => U(0, MbufWidth bits))
    val fill   = filled.now
    // Units of 8 bytes in the MBUF that are free, not counting the seal's room.
    val left    = RegNext(usable - fill)
    val begun   = QueueFlags(p)
    val isBegun = RegNext(begun.of(queue)) init False
    val numbers = QueueState(UInt(64 bits), queue, seals, cleared, late = true)(_ => U(0, 64 bits))
    val number  = numbers.now
  }

  /** Counts the cells (4 KiB) of the staging memory that the queue may still take. The cell that is
    * being filled counts as in use, even if it is empty.
    */
  val cells = new Area {
    val taken                   = UInt(p.cellWidth + 1 bits)
    val count                   = QueueCells(p, queue, taken, uses, io.freed, io.quota)
    val most                    = RegNext(count.most) init 0
    def room(units: UInt): Bool = crossed(units) <= most
    def crossed(units: UInt): UInt =
      ((mbuf.fill.resize(log2Up(CellUnits)) +^ units) >> log2Up(CellUnits)).resize(4)
  }

  val closing = new Area {
    val active   = QueueFlags(p)
    val asked    = QueueFlags(p)
    val isActive = RegNext(active.of(queue)) init False
    val isAsked  = RegNext(asked.of(queue)) init False
    val isDue    = RegNext(mbuf.begun.of(queue) && (asked.of(queue) || io.stopped)) init False
    val begins   = Bool()
    val reasons  = QueueState(Bits(2 bits), queue, begins, cleared)(_ => B(0, 2 bits))
    val reason   = Block.SealReason()
    reason.assignFromBits(reasons.now)
    val seals = RegNext(mbuf.left <= 1)
    val units = RegNext(
      (mbuf.left <= 1) ? (mbuf.left + SealUnits).resize(BlockWidth) |
        ((mbuf.left > FillerUnits) ? U(FillerUnits, BlockWidth bits) | mbuf.left.resize(BlockWidth))
    )
    when(io.seal.valid && mbuf.begun.of(io.seal.payload)) { asked.set(io.seal.payload) }
  }

  /** Counts for each queue and port the frames that were lost since the port's last record. */
  val drops = new Area {
    val counts = Mem(UInt(32 bits), p.queues * Frames.Ports)
    val pendings = QueueState(Bits(Frames.Ports bits), queue, acts, cleared)(_ =>
      B(0, Frames.Ports bits)
    )
    val port   = io.frames.head.port
    val place  = queue @@ port
    val some   = pendings.now(port)
    val before = some ? counts.readAsync(place) | U(0)
  }

  /** Cycle 1 of a frame in MbufPlacer: finds how long its record is. Earlier losses make it longer.
    */
  val measure = new Area {
    val valid    = RegNext(framed && !breaks) init False
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
    val ring  = mbuf.isBegun || io.allowed
    val known = mbuf.isBegun || io.known
    val room  = cells.room(measure.units)
    val loses = !io.lossless

    val valid   = RegNext(measure.valid && !breaks) init False
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
    val ready = io.blocks.ready && io.fates.ready
    // `aims`: the results of `compare` are about the frame that is decided on, or the decision is
    // about a queue without a frame.
    val aims  = if (p.several) compare.valid || !turn.io.framed else True
    val seal  = settled && aims && closing.isDue
    val open  = compare.valid && !closing.isActive && !seal
    val begin = !closing.isActive && seal || open && compare.tooLong
    val may   = closing.isActive && steady && aims
    val close = may && compare.closes
    val stuck = may && !compare.closes && compare.valid && compare.isGood
    // A frame that is not good is never too long, so only a seal can come before it, or a close.
    val before = closing.isActive ? close | seal
    val others = compare.valid && !compare.isGood && !before

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
  decides        := begins || closes || takes
  acts           := takes
  closing.begins := begins
  // No stream operator fits: a frame becomes no block or one block, or waits while other blocks
  // leave.
  io.frames.ready := takes

  when(begins) { closing.active.set(queue) }
  when(begins) {
    val reason = Block.SealReason()
    reason := Block.SealReason.full
    when(decide.seal) {
      reason := closing.isAsked ? Block.SealReason.asked | Block.SealReason.stopped
    }
    closing.reasons.next := reason.asBits
  }
  size              := closes ? closing.units | measure.units
  seals             := closes && closing.seals
  uses              := closes || records
  mbuf.filled.next  := mbuf.fill + size
  mbuf.numbers.next := mbuf.number + 1
  when(uses) { mbuf.begun.set(queue) }
  when(seals) {
    mbuf.filled.next := 0
    mbuf.begun.clear(queue)
    closing.active.clear(queue)
    closing.asked.clear(queue)
  }
  io.advance  := seals
  io.closed   := mbuf.begun.none
  cells.taken := uses ? cells.crossed(size).resize(p.cellWidth + 1) | U(0, p.cellWidth + 1 bits)

  if (p.several) {
    val waits = mbuf.begun.bits & (closing.active.bits | closing.asked.bits |
      B(p.queues bits, default -> io.stopped))
    turn.io.wanted        := waits
    turn.io.frame.valid   := io.frames.valid
    turn.io.frame.payload := io.frames.payload.queue
    turn.io.taken         := takes
    turn.io.done          := decides
    // Something can be decided for the queue now. Otherwise PlacerTurn gives the turn away.
    val wants = decide.begin || decide.close || decide.others ||
      decide.open && (compare.record || compare.noRing || compare.noCell) ||
      decide.stuck && compare.loses
    // `stuck` is a cycle late, since the path is long. `since` says that the turn is still the
    // same.
    turn.io.stuck := RegNext(since.andR && decide.aims && !wants, init = False) && since.andR
  }

  drops.counts.write(drops.place, measure.earlier + 1, lost)
  when(lost) { drops.pendings.next(drops.port) := True }
  when(records) { drops.pendings.next(drops.port) := False }

  /** The sums that seals and status lines report. They change a cycle after a decision, or with
    * several queues two cycles after it. The queue's next decision about a seal comes later.
    */
  val counts = new Area {
    val of       = if (p.several) RegNext(queue) else queue
    val original = RegNext(io.frames.head.original)
    val Seq(record, noRing, noCell) =
      Seq(records, decide.noRing, decide.noCell).map(RegNext(_) init False)
    val lost = noRing || noCell
    private def sum(bits: Int, grows: Bool) =
      QueueState(UInt(bits bits), of, grows, cleared, late = true)(_ => U(0, bits bits))
    val delivered  = sum(64, record)
    val bytes      = sum(64, record)
    val lostRing   = sum(32, noRing)
    val lostNoCell = sum(32, noCell)
    val all        = sum(64, lost)
    for (sum <- Seq(delivered, lostRing, lostNoCell, all)) sum.next := sum.now + 1
    bytes.next := bytes.now + original
  }
  io.lost := counts.all.of(io.lostOf)

  when(io.clear) { closing.asked.clearAll() }

  io.blocks.valid := records || lost || closes
  val block       = io.blocks.payload
  val closingKind = closing.seals ? Block.Kind.seal | Block.Kind.filler
  val frameKind   = lost ? Block.Kind.lost | Block.Kind.packet
  val kind        = closes ? closingKind | frameKind
  block.kind            := kind
  block.queue           := queue
  block.units           := size
  block.head            := io.frames.head
  block.dwords          := io.frames.dwords
  block.flagged         := io.frames.flagged
  block.counting        := measure.counting
  block.drops           := measure.earlier
  block.seal.reason     := closing.reason
  block.seal.number     := mbuf.number
  block.seal.time       := io.now
  block.seal.records    := counts.delivered.now
  block.seal.bytes      := counts.bytes.now
  block.seal.lostRing   := counts.lostRing.now
  block.seal.lostNoCell := counts.lostNoCell.now

  io.fates.valid         := takes
  io.fates.payload.queue := queue
  io.fates.port          := io.frames.head.port
  io.fates.bytes         := io.frames.head.original
  io.fates.fate          := Accounts.Fate.delivered
  when(decide.bad) { io.fates.fate := Accounts.Fate.bad }
  when(decide.noRing) { io.fates.fate := Accounts.Fate.lostRing }
  when(decide.noCell) { io.fates.fate := Accounts.Fate.lostNoCell }
}
