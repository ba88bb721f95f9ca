// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.mmio

import spinal.core._
import spinal.lib._
import spinal.lib.bus.wishbone.{Wishbone, WishboneConfig}

import lanebox.vocabulary.targets.CompletionStatus
import lanebox.vocabulary.{ByteEnables, HardBlock}

/** Carries out the host's accesses on a classic 32-bit Wishbone bus: one access for each dword, in
  * address order.
  *
  * Registers on the bus take whole dwords, whatever the byte selects say. So a write of some bytes
  * of a dword makes no access: it is refused, and reported as an error of the kind `partial`. The
  * other dwords of that write are written. Dwords without an enabled byte are left out of reads and
  * writes.
  *
  * Writes go first. But after a beat of a write a waiting read is next, if all writes that came
  * before the read are done. Read data is gathered in a lane memory, a piece (one completion) at a
  * time. CompletionBuilder fetches the piece from that memory.
  *
  * If the target is idle, the access of the request at `start` is on the bus in the next cycle. The
  * access of a write may follow the access before it without a cycle in between. A piece is offered
  * to CompletionBuilder in the cycle after its last answer.
  */
case class WishboneTarget(p: MmioParam) extends Component {
  import CompletionBuilder.Fetch
  import MmioParam._
  import WishboneTarget.TargetStart

  val io = new Bundle {
    val pieceMask = in UInt (PieceRowBits bits)
    // Offers the request that comes at `write` or `read` a cycle later.
    val start   = slave(Flow(TargetStart()))
    val started = out Bool () // The request at `start` begins in this cycle.
    val write   = slave(Flow(TargetWrite()))
    // Number of beats of host writes that wait for the Wishbone bus.
    val writesLeft = out UInt (log2Up(WishboneTarget.WriteBeats + 1) bits)
    val read       = slave(Flow(TargetRead()))
    val fetch      = master(Stream(Fetch(p)))
    val fetched    = in Bool ()
    val landing    = slave(LaneMemoryPort(PieceRowBits)) // Only the port's read half is used.
    val bus        = master(Wishbone(WishboneTarget.config))
    val error      = master(Flow(MmioError()))
    val busy       = out Bool ()
  }

  // Queues of waiting requests --------------------------------------------------------------------

  case class Write() extends Bundle {
    val address = UInt(30 bits)
    val data    = Bits(HardBlock.DataWidth bits)
    val mask    = Bits(HardBlock.DataWidth / 8 bits)
  }
  val writes = StreamFifo(Write(), WishboneTarget.WriteBeats, latency = 1)
  // `begun`: the request of this cycle has already begun, at `start`, so it is not queued.
  val begun   = RegNext(io.started) init False
  val write   = io.write.takeWhen(!begun)
  val newBeat = Write()
  newBeat.assignSomeByName(write.payload)
  writes.io.push << write.toStream.translateWith(newBeat)
  val beat = writes.io.pop.stage() // The beat of a write that is being written to the bus.

  val reads = StreamFifo(TargetRead(), Reads, latency = 1)
  val read  = io.read.takeWhen(!begun)
  reads.io.push << read.toStream
  val waiting = reads.io.pop.stage()

  val order = WriteOrder()
  order.io.accepted := write.valid
  order.io.read     := read.valid
  order.io.skip     := False

  // One access on the Wishbone bus ----------------------------------------------------------------

  val access = new Area {
    val active  = RegInit(False)
    val write   = Reg(Bool())
    val address = Reg(UInt(30 bits))
    val select  = Reg(Bits(4 bits))
    val data    = Reg(Bits(32 bits))
    val closes  = Reg(Bool()) // The access is the last one of a write's beat.
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
    // `next` says whether the next access of a write may begin. It may if the present access is
    // answered in this cycle, but not if that access times out in this cycle.
    val next = ready || (answered && !late)

    waited := waited + 1
    when(!active || answered) { waited := 0 }
    when(quiet =/= 0) { quiet := quiet - 1 }
    when(expired) { quiet := WishboneTarget.Quiet }
  }

  // Writes and reads take turns -------------------------------------------------------------------

  // `writing`: a beat of a write has begun and not ended yet. `reading`: a piece of a read has
  // begun and not ended yet.
  val writing, reading = RegInit(False)
  val preferRead       = Reg(Bool()) init False

  // A piece of read data is offered to CompletionBuilder, or CompletionBuilder fetches it.
  val offered, fetching = RegInit(False)
  val piece             = offered || fetching

  val mayRead = waiting.valid && order.io.mayStart
  val between = !writing && !reading
  val current = Reg(TargetRead())
  val begins  = RegInit(False) // The next dword to be read is the first of its request.

  // The order to CompletionBuilder to fetch a piece of read data.
  val start = Reg(Fetch(p))
  start.closes init True
  // The latest piece of a read was not its last, so another piece follows.
  val resumes = !start.closes

  // A request begins at once if no other request is in the target, since then there is no order to
  // keep. A request that enters an empty queue leaves it two cycles later. `coming` and `came` say
  // that a request is in the first or the second of these cycles. The target learns late in the
  // cycle whether a request comes, so it takes the address and the data in any case.
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
    val index  = Reg(UInt(3 bits)) init 0
    val left   = Reg(Bits(HardBlock.Dwords bits))
    val masks  = beat.mask.subdivideIn(4 bits)
    val lane   = beat.address(2 downto 0) + index
    val mask   = masks.read(lane)
    val wanted = writing ? left | B(masks.map(_.orR))
    val after  = wanted & ~UIntToOh(lane, HardBlock.Dwords)
    val isLast = after === 0
    val turn   = writing || startWrite
    val takes  = turn && mask.orR && access.next
    val steps  = turn && !mask.orR || takes
    // No request crosses a page of 4 KiB, so the address bits above the page's 10 bits of dword
    // address are constant, and the adder is short.
    val inPage  = beat.address(9 downto 0) + index
    val address = beat.address(29 downto 10) @@ inPage
    // The address of a refused dword is put into `access.address`, since the error report takes it
    // from there. No access is made on the bus.
    val refused = RegNext(takes && !mask.andR) init False
    // The beat ends without an access: its last dword is refused, or none of its bytes is enabled.
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
  // A beat is taken with its last dword: the beat stays offered while its dwords go out one by one.
  beat.ready := onWrite.steps && onWrite.isLast
  val ended = onWrite.ends.asUInt +^ onWrite.skipped.asUInt
  order.io.done := ended.resized

  val onRead = new Area {
    val address = Reg(UInt(30 bits)) // Dword address of the dword that is read next.
    val left    = Reg(UInt(10 bits))
    val enables = Mux(begins, current.firstBe, Mux(left === 0, current.lastBe, B"1111"))
    val cut = (address(PieceRowBits + 2 downto 3) | ~io.pieceMask).andR &&
      address(2 downto 0).andR
    val pieceEnd = left === 0 || cut

    start.source   := p.wishboneSource
    start.onePiece := True

    // A new read and its first access on the bus begin in the same cycle.
    val first = waiting.valid ? waiting.payload | io.start.read
    val opens = !resumes && access.ready && first.firstBe.orR

    val starts = turnsToRead || readStarts
    when(turnsToRead || readMay) {
      when(!resumes) {
        current          := first
        address          := first.address
        left             := first.left
        begins           := True
        start.readNumber := first.readNumber
        start.shift      := first.address(2 downto 0)
        start.row        := first.address(PieceRowBits + 2 downto 3).resized
        start.left       := first.left
        start.firstGap   := ByteEnables.firstGap(first.firstBe)
        start.lastGap    := ByteEnables.lastGap(first.left === 0, first.firstBe, first.lastBe)
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
    val skips  = reading && access.ready && !enables.orR
    val failed = access.failed && !access.write
    val step   = skips || (access.ends && !access.write)
    // `done` says that the piece of the read has ended: `failed || (step && pieceEnd)`. It is
    // written in another form, because the bus's answer is late in the cycle and its path must be
    // short.
    val done = (skips && pieceEnd) || (access.active && !access.write &&
      (io.bus.ERR || (io.bus.ACK ? pieceEnd | access.late)))
    reading := reading ? !done | starts
    when(step) {
      begins  := False
      address := address + 1
      left    := left - 1
    }
    // `status` and `closes` are set while the piece is read; their last values, in the cycle of
    // `done`, are the ones that count.
    when(reading) {
      start.status := failed ? CompletionStatus.Abort | CompletionStatus.Success
      start.closes := left === 0 || failed
    }
  }
  // The bus's answer (ACK or ERR) is late in the cycle. So it only decides that `access.active` is
  // written in this cycle, and not with which value.
  val writeAsks = (onWrite.turn && onWrite.mask.andR) || (alone && io.start.valid && io.start.write)
  when(!access.active || io.bus.ACK || io.bus.ERR || access.late) {
    access.active := (writeAsks && (access.active ? !access.late | access.ready)) || onRead.asks
  }
  // A waiting read is taken in the cycle in which the bus turns to reads.
  waiting.ready  := turnsToRead && !resumes
  order.io.start := turnsToRead && !resumes

  // From the Wishbone bus to CompletionBuilder ----------------------------------------------------

  val gather = new Area {
    val lanes = for (lane <- 0 until HardBlock.Dwords) yield {
      val memory = Mem(Bits(32 bits), PieceRows).setName(s"landing_$lane")
      memory.write(
        address = onRead.address(PieceRowBits + 2 downto 3),
        data = io.bus.DAT_MISO, // A dword that is not read may have any value.
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
    // No stream operator fits: many answers of the bus become one fetch.
    io.fetch.valid   := offered
    io.fetch.payload := start
  }

  // Error reports and state -----------------------------------------------------------------------

  // A dword of a write is refused only while no access is on the bus, so one error report serves
  // both a refused dword and a failed access. Flow.m2sPipe is not used: it would make a register of
  // the constant field `count`, too.
  val failure = access.expired.mux(
    True  -> MmioErrorKind.timeout(),
    False -> MmioErrorKind.busError()
  )
  val report = new Area {
    val valid   = RegNext(access.failed || onWrite.refused) init False
    val kind    = RegNext(onWrite.refused.mux(True -> MmioErrorKind.partial(), False -> failure))
    val write   = RegNext(access.write)
    val address = RegNext(access.address @@ U"00")
  }
  io.error.valid   := report.valid
  io.error.kind    := report.kind
  io.error.count   := 1
  io.error.write   := report.write
  io.error.address := report.address

  val holdsWrite = writes.io.pop.valid || beat.valid || (access.active && access.write)
  val busy       = RegNext(holdsWrite) init False
  io.busy       := busy
  io.writesLeft := writes.io.occupancy.resized
}

object WishboneTarget {
  val WriteBeats = 32 // Most beats of host writes that may be queued: 1 KiB.
  // After a timeout no access begins for this many cycles. A late answer that comes in this time is
  // ignored, so it is not taken for the answer to the next access.
  val Quiet = 16

  val config = WishboneConfig(addressWidth = 30, dataWidth = 32, selWidth = 4, useERR = true)

  /** A request of the host for a slow target, a cycle before it comes as TargetRead or TargetWrite.
    * An idle target may begin the request at once. It is a read, or a write of one whole dword.
    */
  case class TargetStart() extends Bundle {
    val write = Bool()
    // A write has its address in it, too; all other fields are only valid for a read.
    val read = TargetRead()
    val data = Bits(32 bits)
  }
}
