// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.mmio

import spinal.core._
import spinal.lib._
import spinal.lib.bus.amba4.axi.{Axi4Ar, Axi4R}

import lanebox.vocabulary.targets.CompletionStatus
import lanebox.vocabulary.{ByteEnables, HardBlock}

/** Carries out the host's reads on AXI. A read is cut into pieces of one completion each. A piece
  * has a burst, and a place: 512 bytes of memory in which the burst's data lands.
  *
  * Places form a ring. The oldest place is handed to CompletionBuilder when its burst has arrived,
  * has failed or has timed out. If the burst failed or timed out, the read ends with an error
  * completion, and its other pieces are dropped.
  */
case class AxiReader(p: MmioParam) extends Component {
  import CompletionBuilder.Fetch
  import MmioParam._

  val config = AxiTarget.config(p.axiAddressWidth)

  val io = new Bundle {
    val pieceMask = in UInt (PieceRowBits bits)
    val read      = slave(Flow(TargetRead()))
    val mayStart  = in Bool ()  // All writes that came before the next read are done.
    val start     = out Bool ()
    val skip      = out Bool () // The next read is given up unstarted, with Completer Abort.
    val ar        = master(Stream(Axi4Ar(config)))
    val r         = slave(Stream(Axi4R(config)))
    val fetch     = master(Stream(Fetch(p)))
    val fetched   = in Bool ()
    val landing   = slave(LaneMemoryPort(landingRowWidth))
    val error     = master(Flow(MmioError()))
  }

  // `tick` counts quarters of the timeout. A burst only stores the tick at which it began, so 32
  // bursts do not need 32 counters.
  val clock = new Area {
    val tick  = Reg(UInt(3 bits)) init 0
    val count = Reg(UInt(log2Up(p.timeout / 4) bits)) init 0
    count := count + 1
    when(count === p.timeout / 4 - 1) {
      count := 0
      tick  := tick + 1
    }
  }

  case class Place() extends Bundle {
    val readNumber = UInt(ReadNumberWidth bits)
    val address    = UInt(30 bits)
    val left       = UInt(10 bits)
    val firstGap   = UInt(2 bits)
    val lastGap    = UInt(2 bits)
    val closes     = Bool()
    val failed     = Bool()
    val tick       = UInt(3 bits)
  }
  case class Burst() extends Bundle {
    val place    = UInt(ReadNumberWidth bits)
    val epoch    = UInt(AxiTarget.EpochBits bits)
    val address  = UInt(30 bits)
    val firstGap = UInt(2 bits)
    val rows     = UInt(PieceRowBits + 1 bits)
    val single   = Bool()
  }

  val places = Mem(Place(), Reads)
  // For each place (512 bytes of memory): the first row and the epoch of the piece whose data lands
  // in the place. They are read for each beat on AXI's R channel.
  val starts = Mem(Bits(PieceRowBits + AxiTarget.EpochBits bits), Reads)

  def epochOf(place: UInt) = starts.readAsync(place)(0, AxiTarget.EpochBits bits).asUInt

  // Bit n is about the burst of place n. `live`: its beats are still taken. `started`: a beat has
  // come. `done`: no more beats will come.
  val live, done, started = Reg(Bits(Reads bits)) init 0
  val epoch               = Reg(UInt(AxiTarget.EpochBits bits)) init 0
  val tail, head, freed   = Reg(UInt(ReadNumberWidth + 1 bits)) init 0
  val used                = Reg(UInt(ReadNumberWidth + 1 bits)) init 0
  val full                = used.msb
  val place               = tail.resize(ReadNumberWidth bits)

  // Reads are cut into pieces, one piece per cycle ------------------------------------------------

  val bursts = StreamFifo(Burst(), Reads, latency = 1)

  val cut = new Area {
    val queue = StreamFifo(TargetRead(), Reads, latency = 1)
    queue.io.push << io.read.toStream

    val busy    = RegInit(False)
    val current = Reg(TargetRead())
    val first   = Reg(Bool())
    val lastGap = Reg(UInt(2 bits))

    val rowInPiece = current.address(PieceRowBits + 2 downto 3)
    val shift      = current.address(2 downto 0)
    // Rows of 32 bytes that follow the present row in its piece.
    val lastRows = ~rowInPiece & io.pieceMask
    val toCut    = ((lastRows +^ U(1)) << 3) - shift
    val closes   = current.left < toCut
    val go       = busy && !full && bursts.io.push.ready

    // If writes are stuck, a read behind them must not stay inside for ever. Such a read is
    // answered with Completer Abort after `timeout` cycles.
    val waited  = Reg(UInt(log2Up(p.timeout) bits)) init 0
    val overdue = RegInit(False)
    val waits   = queue.io.pop.valid && !io.mayStart
    waited := (waits && !overdue) ? (waited + 1) | U(0)
    when(waited === p.timeout - 1) { overdue := True }
    when(io.mayStart || !queue.io.pop.valid) { overdue := False }

    val next   = !busy || (go && closes)
    val failed = RegNextWhen(!io.mayStart, next)
    // No stream operator makes several pieces of one read. The read is held for all of them.
    queue.io.pop.ready := next && (io.mayStart || overdue)
    io.start           := queue.io.pop.fire && io.mayStart
    io.skip            := queue.io.pop.fire && !io.mayStart
    when(go) {
      first                        := False
      current.left                 := current.left - toCut
      current.address(29 downto 3) := current.address(29 downto 3) + lastRows + 1
      current.address(2 downto 0)  := 0
      tail                         := tail + 1
    }
    when(next) {
      busy    := queue.io.pop.fire
      current := queue.io.pop.payload
      first   := True
      lastGap := ByteEnables.lastGap(
        queue.io.pop.left === 0,
        queue.io.pop.firstBe,
        queue.io.pop.lastBe
      )
    }

    // AXI has no zero-length read. A zero-length read of the host makes no burst and only waits for
    // the writes before it.
    val nothing = first && current.left === 0 && current.firstBe === 0

    val entry = Place()
    entry.readNumber := current.readNumber
    entry.address    := current.address
    entry.left       := current.left
    entry.firstGap   := first ? ByteEnables.firstGap(current.firstBe) | U(0)
    entry.lastGap    := lastGap
    entry.closes     := closes
    entry.failed     := failed
    entry.tick       := clock.tick
    places.write(place, entry, go)
    starts.write(place, (rowInPiece ## epoch), go)

    // A burst reads rows of 32 bytes up to the end of its piece, or up to the end of the read. A
    // piece takes a place even if it makes no burst, so no stream operator joins the two.
    val inPiece = lastRows +^ U(1)
    val toEnd   = (((current.left +^ shift) >> 3) + 1).resize(PieceRowBits + 1)
    bursts.io.push.valid    := busy && !full && !nothing && !failed
    bursts.io.push.place    := place
    bursts.io.push.epoch    := epoch
    bursts.io.push.address  := current.address
    bursts.io.push.firstGap := entry.firstGap
    bursts.io.push.rows     := closes ? toEnd | inPiece
    bursts.io.push.single   := current.left === 0 && first
  }

  // A burst that was given up before it went to AXI's AR channel is dropped -----------------------

  val ask = new Area {
    val burst = bursts.io.pop
    val stale = !live(burst.place) || epochOf(burst.place) =/= burst.epoch
    val asked = burst.throwWhen(stale)
    val ar    = Stream(Axi4Ar(config))
    ar.arbitrationFrom(asked)
    ar.id   := (asked.epoch @@ asked.place)
    ar.addr := (asked.address @@ asked.firstGap).resized
    ar.len  := (asked.rows - 1).resized
    ar.size := (asked.single ? U(2, 3 bits) | U(log2Up(RowBytes), 3 bits))
    ar.setBurstINCR()
    io.ar << ar.m2sPipe()
  }

  // Beats from AXI's R channel are written to their places ----------------------------------------

  val land = new Area {
    val r = io.r.toFlow.m2sPipe

    val number   = r.id.resize(ReadNumberWidth bits)
    val start    = starts.readAsync(number)
    val startRow = start(AxiTarget.EpochBits, PieceRowBits bits).asUInt
    val mine = r.valid && live(number) &&
      start(0, AxiTarget.EpochBits bits).asUInt === r.id(ReadNumberWidth, AxiTarget.EpochBits bits)
    // For each burst that has brought a beat: its next row, and whether AXI reported an error.
    val rows   = Mem(UInt(PieceRowBits + 1 bits), Reads)
    val before = rows.readAsync(number)
    val row    = started(number) ? before.resize(PieceRowBits bits) | startRow
    val bad    = r.resp(1) || (started(number) && before.msb)
    rows.write(number, bad.asUInt @@ (row + 1), mine)

    // The data of AXI's R channel is registered in front of the memory, so it is written a cycle
    // late. `fetch` has a register, too, so CompletionBuilder never reads before the write.
    val store = RegNext(mine) init False
    val at    = RegNext(number @@ row)
    val data  = RegNext(r.data)
    val lanes = for (lane <- 0 until HardBlock.Dwords) yield {
      val memory = Mem(Bits(32 bits), Reads * PieceRows).setName(s"landing_$lane")
        .addAttribute("ram_style", "block")
      memory.write(at, data(32 * lane, 32 bits), store)
      memory.readSync(io.landing.readRows(lane), io.landing.readEnable)
    }
    io.landing.readData := Cat(lanes)
  }

  // The oldest place (memory of one piece) is handed to CompletionBuilder -------------------------

  val oldest = new Area {
    val number  = head.resize(ReadNumberWidth bits)
    val entry   = places.readAsync(number)
    val waiting = head =/= tail
    val age     = clock.tick - entry.tick
    val expired = waiting && age >= 5 && !done(number)
    // A piece of the read has failed, so the later places of the read are dropped.
    val abort  = RegInit(False)
    val failed = started(number) && land.rows.readAsync(number).msb
    val bad    = !done(number) || entry.failed || failed
    val known  = waiting && (done(number) || expired)

    // No stream operator fits: the answers of a burst, or its timeout, become one fetch.
    val fetch = Stream(Fetch(p))
    fetch.valid      := known && !abort
    fetch.readNumber := entry.readNumber
    fetch.source     := p.axiSource
    fetch.row        := (number @@ entry.address(PieceRowBits + 2 downto 3)).resized
    fetch.shift      := entry.address(2 downto 0)
    fetch.left       := entry.left
    fetch.firstGap   := entry.firstGap
    fetch.lastGap    := entry.lastGap
    fetch.status     := bad ? CompletionStatus.Abort | CompletionStatus.Success
    fetch.onePiece   := True
    fetch.closes     := entry.closes || bad
    io.fetch << fetch.m2sPipe()

    // A place is dropped only when no older place is being fetched, because places become free in
    // their order. A place is not dropped before its burst was answered or has timed out. If it
    // were, a late answer could be taken for that of the next burst in the place, since only a
    // timeout changes the epoch.
    val drop   = abort && known && head === freed
    val leaves = fetch.fire || drop
    when(leaves) { head := head + 1 }
    val gives = drop || io.fetched
    when(gives) { freed := freed + 1 }
    used := used + cut.go.asUInt - gives.asUInt
    when(fetch.fire) { abort := bad && !entry.closes }
    when(drop) { abort := !entry.closes }

    val gaveUp = leaves && !done(number)
    // When a burst is given up, the epoch goes up by one, once for all bursts that were issued with
    // it. It has 3 bits, so a value comes again after eight such timeouts.
    when(gaveUp && epochOf(number) === epoch) {
      epoch := epoch + 1
    }

    // Flow.m2sPipe is not used: it would make registers of the constant fields of `io.error`, too.
    val report = new Area {
      val answered = done(number) && started(number)
      val valid    = RegNext(fetch.fire && bad) init False
      val kind     = RegNext(answered ? MmioErrorKind.busError | MmioErrorKind.timeout)
      val address  = RegNext(entry.address @@ U"00")
    }
    io.error.valid   := report.valid
    io.error.kind    := report.kind
    io.error.count   := 1
    io.error.write   := False
    io.error.address := report.address
  }

  for (n <- 0 until Reads) {
    val answered = land.mine && land.number === n
    val placed   = cut.go && place === n
    when(answered) {
      started(n) := True
      when(land.r.last) {
        done(n) := True
        live(n) := False
      }
    }
    when(oldest.leaves && oldest.number === n) { live(n) := False }
    when(placed) {
      live(n)    := !cut.nothing && !cut.failed
      started(n) := False
      done(n)    := cut.nothing || cut.failed
    }
  }
}
