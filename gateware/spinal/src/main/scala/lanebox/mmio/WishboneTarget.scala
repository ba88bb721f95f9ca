// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.mmio

import spinal.core._
import spinal.lib._
import spinal.lib.bus.wishbone.{Wishbone, WishboneConfig}

import lanebox.pcie.{CompletionStatus, HardBlock}

object WishboneTarget {
  val WriteBeats = 32 // Held for the bus: the largest write at a maximum payload of 1 KiB.
  val Quiet      = 16 // Cycles without an access after a timeout: a late answer belongs to nobody.

  val config = WishboneConfig(addressWidth = 30, dataWidth = 32, selWidth = 4, useERR = true)
}

/** A classic 32-bit Wishbone bus: an access per dword, in address order.
  *
  * Registers on the bus take whole dwords, whatever its byte selects say. A write of some bytes of a
  * dword therefore makes no access: it is refused, and reported as an error of the kind `partial`.
  * Its other dwords are written. Dwords without an enabled byte are left out of reads and writes.
  *
  * Writes go first unless a read may go that they
  * have just been preferred to; a read waits for the writes in front of it. What is read is
  * gathered a piece at a time in a lane memory of its own; from there the completion builder
  * fetches it.
  *
  * Of a bus at rest a read is `access` in the cycle after `read`, and offered to the builder in the
  * cycle after its last answer.
  */
case class WishboneTarget(p: MmioParameters) extends Component {
  import MmioParameters._

  val io = new Bundle {
    val pieceMask  = in UInt (PieceRowBits bits)
    val write      = slave(Flow(TargetWrite()))
    val writesLeft = out UInt (log2Up(WishboneTarget.WriteBeats + 1) bits) // Beats, not yet begun.
    val read       = slave(Flow(TargetRead()))
    val fetch      = master(Stream(Fetch(p)))
    val fetched    = in Bool ()
    val landing    = slave(LaneMemoryPort(PieceRowBits))                   // Read only.
    val bus        = master(Wishbone(WishboneTarget.config))
    val error      = master(Flow(MmioError()))
    val busy       = out Bool ()
  }

  // Queues ----------------------------------------------------------------------------------------

  case class Write() extends Bundle {
    val address = UInt(30 bits)
    val data    = Bits(HardBlock.DataWidth bits)
    val mask    = Bits(HardBlock.DataWidth / 8 bits)
  }
  val writes = StreamFifo(Write(), WishboneTarget.WriteBeats, latency = 1)
  writes.io.push.valid := io.write.valid
  writes.io.push.payload.assignSomeByName(io.write.payload)

  // A read that finds nothing else here passes the queue, and there is no order to keep.
  val passes = Bool()
  val queued = io.read.takeWhen(!passes)
  val reads  = StreamFifo(TargetRead(), Slots, latency = 1)
  reads.io.push << queued.toStream

  val order = WriteOrder()
  order.io.accepted := io.write.valid
  order.io.read     := queued.valid
  order.io.skip     := False

  // One access ------------------------------------------------------------------------------------

  val access = new Area {
    val active  = RegInit(False)
    val write   = Reg(Bool())
    val address = Reg(UInt(30 bits))
    val select  = Reg(Bits(4 bits))
    val data    = Reg(Bits(32 bits))
    val waited  = Reg(UInt(log2Up(p.timeout) bits))
    val quiet   = Reg(UInt(log2Up(WishboneTarget.Quiet + 1) bits)) init 0

    io.bus.CYC      := active
    io.bus.STB      := active
    io.bus.WE       := write
    io.bus.ADR      := address
    io.bus.SEL      := select
    io.bus.DAT_MOSI := data

    val answered = active && (io.bus.ACK || io.bus.ERR)
    val late     = RegNext(waited === p.timeout - 2) init False
    val expired  = active && !answered && late
    val failed   = (active && io.bus.ERR) || expired
    val ends     = answered || expired
    val ready    = !active && quiet === 0

    waited := waited + 1
    when(!active) { waited := 0 }
    when(ends) { active := False }
    when(quiet =/= 0) { quiet := quiet - 1 }
    when(expired) { quiet := WishboneTarget.Quiet }
  }

  // Writes and reads take turns -------------------------------------------------------------------

  val writing, reading = RegInit(False)
  val preferRead       = Reg(Bool()) init False
  val piece            = RegInit(False) // A piece is offered or being fetched.

  // Both a cycle old: what is begun takes longer than that.
  val mayRead  = RegNext(reads.io.pop.valid && order.io.mayStart && !piece) init False
  val mayWrite = RegNext(writes.io.pop.valid) init False
  val between  = !writing && !reading
  val read     = Reg(TargetRead())
  val begins   = RegInit(False) // At the first dword of the request.
  val resumes  = RegInit(False) // A read has pieces to come.

  // A cycle old: a read or a write that came since would say so.
  val waiting = reads.io.pop.valid || writes.io.pop.valid || io.read.valid || io.write.valid
  val rests   = RegNext(between && !resumes && !piece && access.ready && !waiting) init False
  passes := io.read.valid && rests

  val turnsToRead =
    between && Mux(resumes, !piece, mayRead && !piece) && (preferRead || !mayWrite)
  val startRead  = turnsToRead || passes
  val startWrite = between && mayWrite && !startRead
  when(startRead) { preferRead := False }
  when(startWrite) { preferRead := True }

  val onWrite = new Area {
    val beat    = Reg(Write())
    val index   = Reg(UInt(3 bits))
    val address = Reg(UInt(30 bits))
    val lane    = address(2 downto 0)
    val masks   = beat.mask.subdivideIn(4 bits) // Of what is still to be written.
    val mask    = masks.read(lane)
    val rest    = Reg(Bool())                   // This dword's access is under way.
    when(startWrite) {
      writing := True
      beat    := writes.io.pop.payload
      address := writes.io.pop.address
      index   := 0
      rest    := False
    }
    val step  = writing && (rest ? access.ends | (access.ready && !mask.orR))
    val takes = writing && !rest && access.ready && mask.orR
    // The access that would be made stands where the error's address is taken from.
    val refused = RegNext(takes && !mask.andR) init False
    when(takes) {
      for ((mask, n) <- masks.zipWithIndex) when(lane === n)(mask := 0)
      rest           := mask.andR
      access.active  := mask.andR
      access.write   := True
      access.address := address
      access.select  := mask
      access.data    := beat.data.subdivideIn(32 bits).read(lane)
    }
    when(step) {
      rest    := False
      index   := index + 1
      address := address + 1
    }
    val isLast = index.andR || rest && beat.mask === 0
    val done   = step && isLast
    when(done) { writing := False }
  }
  writes.io.pop.ready := startWrite
  order.io.done       := onWrite.done.asUInt.resized

  val onRead = new Area {
    val address = Reg(UInt(30 bits)) // Of the dword that is read.
    val left    = Reg(UInt(10 bits))
    val rest    = Reg(Bool())
    val enables = Mux(begins, read.firstBe, Mux(left === 0, read.lastBe, B"1111"))
    val cut = (address(PieceRowBits + 2 downto 3) | ~io.pieceMask).andR &&
      address(2 downto 0).andR
    val pieceEnd = left === 0 || cut

    // Where the piece starts, as its completion says.
    val start = Reg(Fetch(p))
    start.source   := p.wishboneSource
    start.onePiece := True

    // A new one's first access begins with it.
    val first = passes ? io.read.payload | reads.io.pop.payload
    val opens = startRead && !resumes && access.ready && first.firstBe.orR

    when(startRead) {
      reading := True
      rest    := opens
      when(!resumes) {
        read           := first
        address        := first.address
        left           := first.left
        begins         := True
        start.slot     := first.slot
        start.shift    := first.address(2 downto 0)
        start.row      := first.address(PieceRowBits + 2 downto 3).resized
        start.left     := first.left
        start.firstGap := ByteEnables.firstGap(first.firstBe)
        start.lastGap  := ByteEnables.lastGap((first.left === 0) ? first.firstBe | first.lastBe)
      } otherwise {
        start.shift    := 0
        start.row      := address(PieceRowBits + 2 downto 3).resized
        start.left     := left
        start.firstGap := 0
      }
    }
    val goesOn = reading && !rest && access.ready && enables.orR
    when(goesOn) { rest := True }
    when(goesOn || opens) {
      access.active  := True
      access.write   := False
      access.address := reading ? address | first.address
      access.select  := reading ? enables | first.firstBe
    }
    val step   = reading && (rest ? access.ends | (access.ready && !enables.orR))
    val failed = reading && access.failed
    val done   = step && (pieceEnd || failed)
    when(step) {
      rest    := False
      begins  := False
      address := address + 1
      left    := left - 1
    }
    when(done) {
      reading      := False
      piece        := True
      resumes      := left =/= 0 && !failed
      start.status := failed ? CompletionStatus.Abort | CompletionStatus.Success
      start.closes := left === 0 || failed
    }
  }
  reads.io.pop.ready := turnsToRead && !resumes
  order.io.start     := turnsToRead && !resumes

  // From the bus to the completion builder --------------------------------------------------------

  val gather = new Area {
    val lanes = for (lane <- 0 until HardBlock.Dwords) yield {
      val memory = Mem(Bits(32 bits), PieceRows).setName(s"landing_$lane")
      memory.write(
        address = onRead.address(PieceRowBits + 2 downto 3),
        data = io.bus.DAT_MISO, // Of a dword that is left out nobody wants to know.
        enable = onRead.step && onRead.address(2 downto 0) === lane
      )
      memory.readSync(io.landing.readRows(lane), io.landing.readEnable)
    }
    io.landing.readData := Cat(lanes)

    val offered = RegInit(False)
    when(onRead.done) { offered := True }
    when(io.fetch.fire) { offered := False }
    when(io.fetched) { piece := False }
    io.fetch.valid   := offered
    io.fetch.payload := onRead.start
  }

  // State -----------------------------------------------------------------------------------------

  // A refused write and an access are never there in the same cycle.
  val kind = onWrite.refused.mux(
    True  -> MmioErrorKind.partial(),
    False -> access.expired.mux(True -> MmioErrorKind.timeout(), False -> MmioErrorKind.busError())
  )
  io.error.valid   := RegNext(access.failed || onWrite.refused) init False
  io.error.kind    := RegNext(kind)
  io.error.count   := 1
  io.error.write   := RegNext(access.write)
  io.error.address := RegNext(access.address @@ U"00")
  io.writesLeft    := writes.io.occupancy.resized
  io.busy          := RegNext(writing || writes.io.pop.valid) init False
}
