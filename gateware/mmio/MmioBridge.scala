// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.mmio

import spinal.core._
import spinal.lib._
import spinal.lib.bus.amba4.axi.Axi4
import spinal.lib.bus.wishbone.Wishbone

import lanebox.vocabulary._
import lanebox.vocabulary.targets.{
  CompletionStatus,
  ErrorInformation,
  RequesterId,
  TargetCompletion,
  TargetRequest
}

/** Carries out the host's reads and writes to the BARs. Windows of the BARs show lane memories, a
  * Wishbone bus and an AXI4 bus.
  *
  *     request -+- write --- memories at once, 32 bytes per cycle
  *              |        +-- Wishbone, AXI: a queue each
  *              +- read ---- memories, Wishbone, AXI: a queue each -- fetch -- completion
  *
  * The bridge promises this: up to 32 reads may be inside, and none of them is held up at
  * `request`, so posted writes never wait behind reads. A write to a memory is never held up. A
  * write to a slow target (Wishbone, AXI) waits while the target's write queue has no room for it.
  * A read sees every earlier write to the same target. A read's completion follows those of earlier
  * reads of the same target. With `strict` it follows those of all earlier reads.
  *
  * Memories and AXI are written byte by byte. A dword on the Wishbone bus is written whole or not
  * at all: see WishboneTarget.
  *
  * The bridge does not check that a request crosses no page and is for an existing function, since
  * the hard block and the Completer refuse other requests.
  *
  * If nothing else is under way, `completion` is valid 2 cycles and the memory's latency after
  * `request`.
  */
case class MmioBridge(p: MmioParam) extends Component {
  import CompletionBuilder.Fetch
  import MmioParam._

  noIoPrefix()
  val io = new Bundle {
    val request    = slave(Stream(Fragment(TargetRequest())))
    val completion = master(Stream(Fragment(TargetCompletion())))
    val memories = for (m <- p.memories)
      yield master(LaneMemoryPort(m.rowWidth)).setPartialName(s"memory_${m.name}")
    val wishbone = p.wishbone generate master(Wishbone(WishboneTarget.config))
    val axi      = p.axi generate master(Axi4(AxiTarget.config(p.axiAddressWidth)))

    // Max_Payload_Size: 128 bytes << maxPayload. The bridge takes a new value only while no read is
    // inside.
    val maxPayload = in UInt (3 bits)
    // With `strict`, completions come in the order of all reads, whatever their targets. The bridge
    // takes a new value of `strict` only while no read is inside.
    val strict          = in Bool ()
    val stop            = in Bool ()
    val idle            = out Bool () // No read is inside the bridge, and no write is under way.
    val clearStatistics = in Bool ()
    val statistics      = out(MmioStatistics())
    // The bin of the latency histogram to show. Bin 2n counts reads of 2^n to 1.5 * 2^n cycles,
    // bin 2n + 1 reads of 1.5 * 2^n to 2^(n + 1) cycles.
    val latencySelect = in UInt (5 bits)
    // The bin of the size histogram to show. Bin n counts reads of 2^n to 2^(n + 1) - 1 bytes, bin
    // 16 + n writes of as many bytes.
    val sizeSelect = in UInt (5 bits)
  }

  // The window, and so the target, of a request ---------------------------------------------------

  val request = io.request
  val first   = RegNextWhen(request.last, request.fire) init True

  val decode = new Area {
    // For each BAR window: the request is in it. The Completer has set the bits of `window`.
    val hits = p.windows.indices.map(request.window(_))
    def hitsOf(target: String) =
      p.windows.zip(hits).collect { case (w, hit) if w.target == target => hit }.orR
    val memories = p.memories.map(m => hitsOf(m.name))
    val wishbone = hitsOf(WishboneName)
    val axi      = hitsOf(AxiName)
    val nothing  = !hits.orR
    val readOnly = p.memories.zip(memories).collect { case (m, hit) if !m.writable => hit }.orR

    // `address` is the dword address in the target. Windows consist of whole pages of 4 KiB, so
    // only the page has to be computed: inside a page the offset in the BAR is the offset in the
    // target.
    val page = p.windows.zip(hits).map { case (w, hit) =>
      val inside = request.offset & U(w.size - 1, 32 bits) | U(w.targetBase, 32 bits)
      (inside >> log2Up(Page)).andMask(hit)
    }.reduceBalancedTree(_ | _)
    val address = page @@ request.offset(log2Up(Page) - 1 downto 2)
    val row     = address >> 3
    val shift   = address(2 downto 0)
  }

  val readNumbers = ReadNumbers()
  val full = new Area {
    val wishbone, axi, axiDead = Bool()
    val holds                  = (decode.wishbone && wishbone) || (decode.axi && axi && !axiDead)
    val drops                  = decode.axi && axi && axiDead
  }
  val mayBegin = !(first && io.stop)
  val mayRead  = readNumbers.io.take.valid && mayBegin
  val mayWrite = (!first || !full.holds) && mayBegin
  // No stream operator fits: reads and writes wait for different things, and `ready` must not
  // depend on `valid`.
  request.ready := request.write ? mayWrite | mayRead

  // A read is taken whatever its target is, so for reads `ready` does not depend on the decoder.
  val accept = request.fire
  val isRead = request.valid && !request.write && mayRead
  readNumbers.io.take.ready := isRead

  // Writes: rotated into lanes, given to all targets a cycle later --------------------------------

  val write = new Area {
    import LaneMemoryPort.{turnEven, turnOdd}

    // Index of a 32-byte row in its page: the row of this beat of a write, and that of its next
    // beat.
    val rowNow, rowNext = UInt(log2Up(Page / RowBytes) bits)
    // Dwords that the write still has, less one: from this beat on, and from the next beat on.
    val leftNow, leftNext = UInt(log2Up(p.writeBytes / 4) bits)
    val rowReg            = RegNextWhen(rowNext, accept)
    val leftReg           = RegNextWhen(leftNext, accept)
    rowNow  := first ? decode.row.resize(widthOf(rowNow)) | rowReg
    rowNext := rowNow + 1
    val leftFirst = (request.dwords - 1).resize(widthOf(leftNow))
    leftNow  := first ? leftFirst | leftReg
    leftNext := leftNow - 8

    val final_ = leftNow < 8
    val enables = Vec((0 until HardBlock.Dwords).map { n =>
      val inside = !final_ || leftNow(2 downto 0) >= n
      val ends   = final_ && leftNow(2 downto 0) === n
      val starts = if (n == 0) first else False
      Mux(starts, request.firstBe, Mux(ends, request.lastBe, B"1111")).andMask(inside)
    }).asBits

    val dropping = first ? full.drops | RegNextWhen(full.drops, accept && first)
    val valid    = RegNext(accept && request.write) init False
    val row      = RegNext(decode.page) @@ RegNext(rowNow)
    val shift    = RegNext(decode.shift)
    // A write is rotated by the even part of `shift` in front of the registers, and by the odd part
    // behind them. So there are two short paths instead of a long one.
    val mask     = turnOdd(turnEven(RegNext(enables), shift), shift)
    val data     = turnOdd(RegNext(turnEven(request.data, decode.shift)), shift)
    val isFirst  = RegNext(first)
    val isLast   = RegNext(request.last)
    val spills   = RegNext((leftNow(2 downto 0) +^ decode.shift).msb)
    val rows     = RegNext(((leftFirst +^ decode.shift) >> 3).resize(6) + 1)
    val memories = decode.memories.map(RegNext(_))
    val nextRow  = LaneMemoryPort.next(row)
    val laneRows = LaneMemoryPort.rows(row, nextRow, shift)

    // Memories have initial contents, but `valid` is undefined before the first clock edge. `awake`
    // stays low until then, so that nothing overwrites these contents.
    val awake = ClockDomain.current.withBootReset()(RegNext(True) init False)
    for (((port, m), chosen) <- io.memories.zip(p.memories).zip(memories)) {
      for (lane <- 0 until HardBlock.Dwords) port.writeRows(lane) := laneRows(lane).resized
      port.writeData := data
      port.writeMask := mask.andMask(valid && chosen && awake && Bool(m.writable))
    }

    val beat = TargetWrite()
    beat.address := row @@ shift
    beat.data    := data
    beat.mask    := mask
    beat.first   := isFirst
    beat.last    := isLast
    beat.rows    := rows
    beat.spills  := spills
  }

  // Reads -----------------------------------------------------------------------------------------

  case class ReadFields() extends Bundle {
    val requester = RequesterId()
    val request   = ErrorInformation()
    val time      = UInt(20 bits)
  }
  val readFields = Mem(ReadFields(), Reads)
  val time       = CounterFreeRun(BigInt(1) << 20).value
  val taken      = ReadFields()
  taken.requester       := request.requester
  taken.request.address := request.address
  taken.request.dwords  := request.dwords
  taken.request.firstBe := request.firstBe
  taken.request.lastBe  := request.lastBe
  taken.time            := time
  readFields.write(readNumbers.io.take.payload, taken, isRead)

  val left   = (request.dwords - 1).resize(10 bits)
  val direct = Stream(Fetch(p))
  direct.valid      := isRead && !decode.wishbone && !decode.axi
  direct.readNumber := readNumbers.io.take.payload
  direct.source     := OHToUInt(decode.memories).resized
  direct.row        := decode.row.resized
  direct.shift      := decode.shift
  direct.left       := left
  direct.firstGap   := ByteEnables.firstGap(request.firstBe)
  direct.lastGap    := ByteEnables.lastGap(request.dwords === 1, request.firstBe, request.lastBe)
  direct.status     := decode.nothing ? CompletionStatus.Unsupported | CompletionStatus.Success
  direct.onePiece   := False
  direct.closes     := True

  val newRead = TargetRead()
  newRead.readNumber := readNumbers.io.take.payload
  newRead.address    := decode.address
  newRead.left       := left
  newRead.firstBe    := request.firstBe
  newRead.lastBe     := request.lastBe
  val slowRead = RegNext(newRead)

  // Completions -----------------------------------------------------------------------------------

  // A read is cut into completions of 128 to 512 bytes, by the host's Max_Payload_Size. Larger
  // completions would gain nothing and need more memory. All blocks that cut a read must cut it
  // alike, so the size changes only while no read is inside the bridge.
  val noRead = readNumbers.io.used === 0 && !request.valid
  val pieceMask = RegNextWhen(
    io.maxPayload.mux(
      0       -> U(3, PieceRowBits bits),
      1       -> U(7, PieceRowBits bits),
      default -> U(15, PieceRowBits bits)
    ),
    noRead
  ) init 3

  val builder = CompletionBuilder(p)
  builder.io.pieceMask := pieceMask
  for ((port, n) <- io.memories.zipWithIndex) {
    for (lane <- 0 until HardBlock.Dwords)
      port.readRows(lane) := builder.io.rows(lane).resized
    port.readEnable       := builder.io.enables(n)
    builder.io.data(n)    := port.readData
  }
  def attach(landing: LaneMemoryPort, source: Int): Unit = {
    for (lane <- 0 until HardBlock.Dwords)
      landing.readRows(lane) := builder.io.rows(lane).resized
    landing.readEnable       := builder.io.enables(source)
    builder.io.data(source)  := landing.readData
    landing.writeRows.foreach(_ := 0)
    landing.writeData := 0
    landing.writeMask := 0
  }

  // Slow targets: Wishbone and AXI ----------------------------------------------------------------
  // The slow targets share the registers of the payloads (`write.beat`, `slowRead`), so each of
  // them has only the registers of `valid`, and no Flow.m2sPipe.

  /** Decides whether the write queue of a slow target (Wishbone or AXI), which has 32 beats, takes
    * a write. A write of up to 512 bytes is taken if fewer than 8 beats are in the queue. A larger
    * write is taken if the queue is empty. `recent` and `older` stand for beats that `held` does
    * not count yet.
    */
  class Admission(writesLeft: UInt, chosen: Bool) extends Area {
    val held   = RegNext(writesLeft) init 0
    val recent = RegNext(accept && request.write && chosen) init False
    val older  = RegNext(recent) init False
    val small  = if (p.writeBytes <= PieceBytes) True else request.dwords <= PieceBytes / 4
    val room   = held(held.high downto 3) === 0 && (small || (held === 0 && !recent && !older))
  }

  val wishbone = p.wishbone generate new Area {
    val target    = WishboneTarget(p)
    val admission = new Admission(target.io.writesLeft, decode.wishbone)
    target.io.pieceMask := pieceMask
    // A write of one dword need not wait for `admission`: it only starts if the queue is empty.
    val dword  = request.valid && mayBegin && request.dwords === 1 && request.firstBe.andR
    val starts = decode.wishbone && (request.write ? dword | isRead)
    target.io.start.valid := starts
    target.io.start.write := request.write
    target.io.start.read  := newRead
    target.io.start.data  := request.data(31 downto 0)
    assert(!target.io.started || accept, "a request has begun that is not taken")
    val taken     = accept && decode.wishbone
    val writeCame = RegNext(taken && request.write) init False
    val readCame  = RegNext(taken && !request.write) init False
    target.io.write.valid   := writeCame
    target.io.write.payload := write.beat
    target.io.read.valid    := readCame
    target.io.read.payload  := slowRead
    target.io.fetched       := builder.io.fetched(p.wishboneSource)
    attach(target.io.landing, p.wishboneSource)
    io.wishbone <> target.io.bus
  }
  full.wishbone := (if (p.wishbone) !wishbone.admission.room else False)

  val axi = p.axi generate new Area {
    val target    = AxiTarget(p)
    val admission = new Admission(target.io.writesLeft, decode.axi)
    target.io.pieceMask := pieceMask
    val writes    = accept && request.write && decode.axi && !write.dropping
    val writeCame = RegNext(writes) init False
    val readCame  = RegNext(isRead && decode.axi) init False
    target.io.write.valid   := writeCame
    target.io.write.payload := write.beat
    target.io.read.valid    := readCame
    target.io.read.payload  := slowRead
    target.io.fetched       := builder.io.fetched(p.axiSource)
    attach(target.io.landing, p.axiSource)
    io.axi <> target.io.bus

    // If a write has found no room in the AXI write queue for `timeout` cycles, the bus is stuck.
    // From then on writes that find no room are dropped, until the queue has room again.
    val waited = Reg(UInt(log2Up(p.timeout) bits)) init 0
    val dead   = RegInit(False)
    val waits  = request.valid && request.write && first && decode.axi && !admission.room
    waited := (waits && !dead) ? (waited + 1) | U(0)
    when(waited === p.timeout - 1) { dead := True }
    when(admission.room) { dead := False }
  }
  full.axi     := (if (p.axi) !axi.admission.room else False)
  full.axiDead := (if (p.axi) axi.dead else False)

  // The order of completions ----------------------------------------------------------------------

  val ordered = new Area {
    val strict = RegInit(False)
    when(noRead) { strict := io.strict }

    val slow = (if (p.wishbone) Seq(wishbone.target.io.fetch) else Nil) ++
      (if (p.axi) Seq(axi.target.io.fetch) else Nil)
    val wishboneTurn = 1
    val axiTurn      = if (p.wishbone) 2 else 1

    // With `strict`, `turns` holds the target of each read, in order. It has a place for every read
    // inside, so a push need not wait for `ready`. The head of each queue is in a register, because
    // it would come late in the cycle from a memory.
    val turns = StreamFifo(UInt(2 bits), Reads, latency = 1)
    val next  = turns.io.pop.combStage()
    val turn  = next.stage()
    turns.io.push.valid   := isRead && strict
    turns.io.push.payload := 0
    when(decode.wishbone) { turns.io.push.payload := wishboneTurn }
    when(decode.axi) { turns.io.push.payload := axiTurn }

    val mayGo = Vec((0 to slow.size).map(n => !strict || (turn.valid && turn.payload === n)))

    // `direct` (the read that comes in now) is known late in the cycle, through the whole decoder.
    // So the choice of the next fetch does not depend on `direct`, as that of a StreamArbiter
    // would: `direct` bypasses the queue only if no other fetch waits.
    val queue   = StreamFifo(Fetch(p), Reads, latency = 0)
    val head    = queue.io.pop.stage()
    val queued  = head.continueWhen(mayGo(0))
    val gated   = slow.zipWithIndex.map { case (source, n) => source.continueWhen(mayGo(n + 1)) }
    val passes  = !strict && !head.valid
    val slowest = if (gated.isEmpty) null else StreamArbiterFactory().roundRobin.noLock.on(gated)

    val preferSlow = RegInit(False)
    val takeSlow   = if (gated.isEmpty) False else slowest.valid && (preferSlow || !queued.valid)
    val fetch      = builder.io.fetch
    when(fetch.fire) { preferSlow := !takeSlow }
    fetch.valid   := takeSlow || queued.valid || (passes && direct.valid)
    fetch.payload := passes ? direct.payload | queued.payload
    // StreamArbiter is not used, since this choice must not depend on `direct`, which is known
    // late.
    queued.ready := fetch.ready && !takeSlow
    if (gated.nonEmpty) {
      when(takeSlow) { fetch.payload := slowest.payload }
      // A fetch from a slow target goes only in the cycles that `takeSlow` gives to it.
      slowest.ready := fetch.ready && takeSlow
    }
    val passing = passes && !takeSlow && fetch.ready
    queue.io.push.valid   := direct.valid && !passing
    queue.io.push.payload := direct.payload
    direct.ready          := True // The queue has a place for every read, so it is never full.
    turn.ready            := fetch.fire && fetch.closes
  }

  // Completions to the host -----------------------------------------------------------------------

  val answer = new Area {
    val beat   = builder.io.beats
    val fields = readFields.readAsync(beat.header.readNumber)
    io.completion.arbitrationFrom(beat)
    io.completion.last         := beat.last
    io.completion.requester    := fields.requester
    io.completion.status       := beat.header.status
    io.completion.lowerAddress := beat.header.lowerAddress
    io.completion.byteCount    := beat.header.byteCount
    io.completion.dwords       := beat.header.dwords.resized
    io.completion.final_       := beat.header.final_
    io.completion.request      := fields.request
    io.completion.data         := beat.data

    val ends   = io.completion.fire && io.completion.last
    val closes = ends && io.completion.final_
    val freed  = Flow(UInt(ReadNumberWidth bits))
    freed.valid   := closes
    freed.payload := beat.header.readNumber
    readNumbers.io.free << freed.m2sPipe()
  }

  val wrote = RegNext(write.valid)
  val writesBusy = (if (p.wishbone) wishbone.target.io.busy else False) ||
    (if (p.axi) axi.target.io.busy else False) || write.valid || wrote
  val quiet = RegNext(readNumbers.io.used === 0 && !writesBusy && !request.fire) init False
  io.idle := quiet

  // Statistics ------------------------------------------------------------------------------------

  val counts = new Area {
    val clear                            = io.clearStatistics
    def count(event: Bool): EventCounter = EventCounter(event, clear)
    def errors(which: Flow[MmioError] => Bool): EventCounter.Sum =
      EventCounter.Sum(slow.map(e => e.count.andMask(e.valid && which(e))), clear)

    val slow = (if (p.wishbone) Seq(wishbone.target.io.error) else Nil) ++
      (if (p.axi) Seq(axi.target.io.readError, axi.target.io.writeError) else Nil)
    val own     = Flow(MmioError())
    val began   = RegNext(accept && first) init False
    val refused = RegNext(decode.nothing || (request.write && (decode.readOnly || full.drops)))
    val ownKind = RegNext(request.write.mux(
      True -> decode.nothing.mux(
        True  -> MmioErrorKind.unmappedWrite(),
        False -> decode.axi.mux(True -> MmioErrorKind.held(), False -> MmioErrorKind.readOnly())
      ),
      False -> MmioErrorKind.unmappedRead()
    ))
    // Flow.m2sPipe is not used: it would make a register of the constant field `count`, too.
    own.valid   := began && refused
    own.kind    := ownKind
    own.count   := 1
    own.write   := RegNext(request.write)
    own.address := RegNext(request.offset)

    val lastError = Reg(MmioStatistics.LastError())
    lastError.kind init MmioErrorKind.none
    lastError.write init False
    lastError.address init 0
    for (error <- slow :+ own)
      when(error.valid) { lastError.assignSomeByName(error.payload) }
    when(clear) { lastError.kind := MmioErrorKind.none }

    val max = Reg(UInt(6 bits)) init 0
    when(readNumbers.io.used > max) { max := readNumbers.io.used }
    when(clear) { max := 0 }

    val age     = RegNext((time - answer.fields.time).resize(20 bits))
    val ageThen = RegNext(age)
    val bytes   = RegNext(ByteEnables.span(request.dwords, request.firstBe, request.lastBe))
    val latency = Histogram(32)
    latency.io.event.valid := Delay(answer.closes, 2, init = False)
    val high = RegNext(Histogram.log2(age))
    val latencyBin = (high > 15) ? U(31, 5 bits) |
      (high.resize(4 bits) @@ (ageThen << 1 >> high)(0).asUInt)
    latency.io.event.payload := latencyBin
    latency.io.clear         := clear
    latency.io.select        := io.latencySelect
    val size    = Histogram(32)
    val sizeBin = Histogram.log2(bytes).resize(4 bits)
    size.io.event.valid   := began
    size.io.event.payload := own.write.asUInt @@ sizeBin
    size.io.clear         := clear
    size.io.select        := io.sizeSelect

    val writes        = count(accept && first && request.write)
    val reads         = count(isRead)
    val completions   = count(answer.ends)
    val unsupported   = count(own.valid && !own.write)
    val aborted       = errors(!_.write)
    val timeouts      = errors(_.kind === MmioErrorKind.timeout)
    val writesDropped = count(own.valid && own.write)
    val writesFailed  = errors(e => e.write && e.kind =/= MmioErrorKind.partial)
    val writesRefused = errors(_.kind === MmioErrorKind.partial)

    io.statistics.readsNow      := readNumbers.io.used
    io.statistics.readsMax      := max
    io.statistics.writes        := writes.count
    io.statistics.reads         := reads.count
    io.statistics.completions   := completions.count
    io.statistics.unsupported   := unsupported.count
    io.statistics.aborted       := aborted.count
    io.statistics.timeouts      := timeouts.count
    io.statistics.writesDropped := writesDropped.count
    io.statistics.writesFailed  := writesFailed.count
    io.statistics.writesRefused := writesRefused.count
    io.statistics.lastError     := lastError
    io.statistics.latencyCount  := latency.io.count
    io.statistics.sizeCount     := size.io.count
  }
}
