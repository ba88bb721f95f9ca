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
  // Cycles without an access after a timeout: a late answer that comes meanwhile is ignored.
  val Quiet = 16

  val config = WishboneConfig(addressWidth = 30, dataWidth = 32, selWidth = 4, useERR = true)
}

/** A classic 32-bit Wishbone bus: one access for each dword, in address order.
  *
  * Registers on the bus take whole dwords, whatever the byte selects say. So a write of some bytes
  * of a dword makes no access: it is refused, and reported as an error of the kind `partial`. The
  * other dwords of that write are written. Dwords without an enabled byte are left out of reads and
  * writes.
  *
  * Writes go first, but after a write a waiting read is next, if it may go. A read waits for the
  * writes in front of it. Read data is gathered in a lane memory, a piece at a time, and the
  * completion builder fetches it from there.
  *
  * If the target is idle, the access of the request at `start` is on the bus in the next cycle. The
  * access of a write may follow the one before it without a cycle in between. A piece is offered to
  * the builder in the cycle after its last answer.
  */
case class WishboneTarget(p: MmioParameters) extends Component {
  import MmioParameters._

  val io = new Bundle {
    val pieceMask = in UInt (PieceRowBits bits)
    val start     = slave(Flow(TargetStart())) // Comes as `write` or `read` in the next cycle.
    val started   = out Bool ()                // The request at `start` begins now.
    val write     = slave(Flow(TargetWrite()))
    // Beats in the queue, not yet begun.
    val writesLeft = out UInt (log2Up(WishboneTarget.WriteBeats + 1) bits)
    val read       = slave(Flow(TargetRead()))
    val fetch      = master(Stream(Fetch(p)))
    val fetched    = in Bool ()
    val landing    = slave(LaneMemoryPort(PieceRowBits)) // Read only.
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
  // The request of this cycle began at `start`: it is not queued.
  val begun = RegNext(io.started) init False
  val write = io.write.takeWhen(!begun)
  writes.io.push.valid := write.valid
  writes.io.push.payload.assignSomeByName(write.payload)
  val beat = writes.io.pop.stage() // The beat that is written.

  val reads = StreamFifo(TargetRead(), Slots, latency = 1)
  val read  = io.read.takeWhen(!begun)
  reads.io.push << read.toStream
  val waiting = reads.io.pop.stage()

  val order = WriteOrder()
  order.io.accepted := write.valid
  order.io.read     := read.valid
  order.io.skip     := False

  // One access ------------------------------------------------------------------------------------

  val access = new Area {
    val active  = RegInit(False)
    val write   = Reg(Bool())
    val address = Reg(UInt(30 bits))
    val select  = Reg(Bits(4 bits))
    val data    = Reg(Bits(32 bits))
    val closes  = Reg(Bool()) // A write beat's last access.
    val waited  = Reg(UInt(log2Up(p.timeout) bits))
    val quiet   = Reg(UInt(log2Up(WishboneTarget.Quiet + 1) bits)) init 0

    io.bus.CYC      := active
    io.bus.STB      := active
    io.bus.WE       := write
    io.bus.ADR      := address
    io.bus.SEL      := select
    io.bus.DAT_MOSI := data

    val answered = active && (io.bus.ACK || io.bus.ERR)
    val late     = RegNext(waited === p.timeout - 2 && !answered) init False
    val ends     = active && (io.bus.ACK || io.bus.ERR || late)
    val expired  = active && late && !io.bus.ACK && !io.bus.ERR
    val failed   = (active && io.bus.ERR) || expired
    val ready    = !active && quiet === 0
    // A write may follow an access that is answered in this cycle, but not one that times out in
    // it.
    val next = ready || (answered && !late)

    waited := waited + 1
    when(!active || answered) { waited := 0 }
    when(quiet =/= 0) { quiet := quiet - 1 }
    when(expired) { quiet := WishboneTarget.Quiet }
  }

  // Writes and reads take turns -------------------------------------------------------------------

  // A beat of a write, or a piece of a read, has begun and not ended yet.
  val writing, reading = RegInit(False)
  val preferRead       = Reg(Bool()) init False

  // A piece is offered to the builder, or the builder fetches it.
  val offered, fetching = RegInit(False)
  val piece             = offered || fetching

  val mayRead = waiting.valid && order.io.mayStart
  val between = !writing && !reading
  val current = Reg(TargetRead())
  val begins  = RegInit(False) // The next dword is the first of its request.

  // The fetch that is offered for the piece.
  val start = Reg(Fetch(p))
  start.closes init True
  val resumes = !start.closes // The last piece did not end its request.

  // A request begins at once if no other is here, since then there is no order to keep. A request
  // that enters an empty queue leaves it two cycles later; `coming` and `came` cover these. Whether
  // there is a request is known late in the cycle, so its address and data are taken in any case.
  val coming      = read.valid || write.valid
  val came        = RegNext(coming) init False
  val alone       = between && !resumes && !waiting.valid && !beat.valid && !coming && !came
  val dwordMay    = alone && access.next
  val readMay     = alone && access.ready && !piece
  val dwordStarts = dwordMay && io.start.valid && io.start.write
  val readStarts  = readMay && io.start.valid && !io.start.write
  io.started := dwordStarts || readStarts

  val readWaits   = !piece && (resumes || mayRead)
  val turnsToRead = between && readWaits && (preferRead || !beat.valid)
  val startWrite  = between && beat.valid && !(preferRead && readWaits)
  when(turnsToRead) { preferRead := False }

  val onWrite = new Area {
    val index  = Reg(UInt(3 bits)) init 0         // Number of the dword in the beat.
    val left   = Reg(Bits(HardBlock.Dwords bits)) // Lanes that are still to be written.
    val masks  = beat.mask.subdivideIn(4 bits)
    val lane   = beat.address(2 downto 0) + index
    val mask   = masks.read(lane)
    val wanted = writing ? left | B(masks.map(_.orR))
    val after  = wanted & ~UIntToOh(lane, HardBlock.Dwords)
    val isLast = after === 0
    val turn   = writing || startWrite
    val takes  = turn && mask.orR && access.next
    val steps  = turn && !mask.orR || takes
    // No request crosses a page, so the bits above are constant and the adder is short.
    val inPage  = beat.address(9 downto 0) + index
    val address = beat.address(29 downto 10) @@ inPage
    // A refused dword is put into `access` but not made: the error takes its address from there.
    val refused = RegNext(takes && !mask.andR) init False
    // The beat ends without an access: its last dword is refused, or no byte of it is enabled.
    val skipped = RegNext(steps && isLast && !mask.andR) init False
    when(takes) {
      access.write   := True
      access.address := address
      access.select  := mask
      access.data    := beat.data.subdivideIn(32 bits).read(lane)
      access.closes  := isLast
    }
    when(steps) {
      writing    := !isLast
      preferRead := True
      left       := after
      index      := isLast ? U(0) | index + 1
    }
    val ends = access.ends && access.write && access.closes
  }
  beat.ready    := onWrite.steps && onWrite.isLast
  order.io.done := (onWrite.ends.asUInt +^ onWrite.skipped.asUInt).resized

  val onRead = new Area {
    val address = Reg(UInt(30 bits)) // Address of the dword that is read.
    val left    = Reg(UInt(10 bits))
    val enables = Mux(begins, current.firstBe, Mux(left === 0, current.lastBe, B"1111"))
    val cut = (address(PieceRowBits + 2 downto 3) | ~io.pieceMask).andR &&
      address(2 downto 0).andR
    val pieceEnd = left === 0 || cut

    start.source   := p.wishboneSource
    start.onePiece := True

    // The first access of a new read begins in the same cycle as the read.
    val first = waiting.valid ? waiting.payload | io.start.read
    val opens = !resumes && access.ready && first.firstBe.orR

    val starts = turnsToRead || readStarts
    when(turnsToRead || readMay) {
      when(!resumes) {
        current        := first
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
    val goesOn = reading && access.ready && enables.orR
    when(goesOn || (turnsToRead && opens) || dwordMay) {
      access.write   := dwordMay && io.start.write
      access.address := reading ? address | first.address
      access.select  := reading ? enables | first.firstBe
      access.data    := io.start.data
      access.closes  := False
    }
    val asks   = goesOn || (starts && opens)
    val skips  = reading && access.ready && !enables.orR // The dword makes no access.
    val failed = access.failed && !access.write
    val step   = skips || (access.ends && !access.write)
    // The same as `failed || (step && pieceEnd)`, with a short path from the bus's answer, which
    // is late.
    val done = (skips && pieceEnd) || (access.active && !access.write &&
      (io.bus.ERR || (io.bus.ACK ? pieceEnd | access.late)))
    reading := reading ? !done | starts
    when(step) {
      begins  := False
      address := address + 1
      left    := left - 1
    }
    // Both keep the value of the cycle of `done`.
    when(reading) {
      start.status := failed ? CompletionStatus.Abort | CompletionStatus.Success
      start.closes := left === 0 || failed
    }
  }
  // The bus's answer is late in the cycle, so it only says when this register changes, not to what.
  val writeAsks = (onWrite.turn && onWrite.mask.andR) || (alone && io.start.valid && io.start.write)
  when(!access.active || io.bus.ACK || io.bus.ERR || access.late) {
    access.active := (writeAsks && (access.active ? !access.late | access.ready)) || onRead.asks
  }
  waiting.ready  := turnsToRead && !resumes
  order.io.start := turnsToRead && !resumes

  // From the bus to the completion builder --------------------------------------------------------

  val gather = new Area {
    val lanes = for (lane <- 0 until HardBlock.Dwords) yield {
      val memory = Mem(Bits(32 bits), PieceRows).setName(s"landing_$lane")
      memory.write(
        address = onRead.address(PieceRowBits + 2 downto 3),
        data = io.bus.DAT_MISO, // A dword that is left out may have any value.
        enable = onRead.step && onRead.address(2 downto 0) === lane
      )
      memory.readSync(io.landing.readRows(lane), io.landing.readEnable)
    }
    io.landing.readData := Cat(lanes)

    when(onRead.done) { offered := True }
    when(io.fetched) { fetching := False }
    when(io.fetch.fire) {
      offered  := False
      fetching := True
    }
    io.fetch.valid   := offered
    io.fetch.payload := start
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
  io.busy := RegNext(
    writes.io.pop.valid || beat.valid || (access.active && access.write)
  ) init False
}
