// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.mmio

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.{HardBlock, Numbers}
import lanebox.vocabulary.targets.CompletionStatus

/** Reads lane memories and makes completions of the data, a beat in every cycle.
  *
  * Fetches are done one after the other. Each fetch is cut into pieces, and each piece is one
  * completion (base specification 2.3.1.1). A beat is fetched only when room for it is reserved in
  * the output FIFO, so no beat waits between the memory and the FIFO. The FIFO has room for more
  * beats than can be on their way. So if its room runs out inside a TLP, the beats in the FIFO last
  * until more have come, and the TLP leaves without a gap.
  *
  * A beat is at `beats` as many cycles after its fetch as the memory's latency has, plus 2.
  */
case class CompletionBuilder(p: MmioParam) extends Component {
  import CompletionBuilder._
  import MmioParam._

  val io = new Bundle {
    val fetch = slave(Stream(Fetch(p)))
    // The number of rows of 32 bytes in the largest piece (the part of a read that is one
    // completion), less one. The number of rows is a power of two.
    val pieceMask = in UInt (PieceRowBits bits)
    val enables   = out Bits (p.latencies.size bits)
    val rows      = out Vec (UInt(p.rowWidth bits), HardBlock.Dwords)
    val data      = in Vec (Bits(HardBlock.DataWidth bits), p.latencies.size)
    // Bit i: the present fetch has read all its data from memory i.
    val fetched = out Bits (p.latencies.size bits)
    val beats   = master(Stream(Fragment(CompletionBeat())))
  }

  val roomBeats = 32
  val room      = Bool()

  // A beat of read data on the way from a memory, with the facts that the header of its completion
  // needs.
  case class Beat() extends Bundle {
    val fetch = Fetch(p)
    val first = Bool()
    val last  = Bool()
  }

  val issue = new Area {
    val busy    = RegInit(False)
    val current = Reg(Fetch(p))
    val first   = Reg(Bool())

    // A read is cut only at the end of a row, so its next completion starts at lane 0.
    val nextRow = LaneMemoryPort.next(current.row)
    val lastRow = (current.row(PieceRowBits - 1 downto 0) | ~io.pieceMask).andR
    val few     = current.left < 8
    val inRow   = (current.left(2 downto 0) +^ current.shift) < 8
    val ends    = few && (!lastRow || inRow) || current.isError
    val closes  = ends || (lastRow && current.onePiece)

    // `hazard`: a beat of a slower memory is still on its way. A beat read from the present memory
    // now would arrive in the same cycle or earlier.
    val hazard = Bool()
    val go     = busy && room && !hazard

    // No stream operator makes several beats of one fetch. The fetch is held for all of them.
    io.fetch.ready := !busy || (go && closes)
    when(go) {
      first        := ends || lastRow
      current.row  := nextRow
      current.left := current.left - (lastRow ? (U(8, 4 bits) - current.shift) | U(8, 4 bits))
      when(lastRow) {
        current.shift    := 0
        current.firstGap := 0
      }
    }
    when(io.fetch.ready) {
      busy    := io.fetch.valid
      current := io.fetch.payload
      first   := True
    }

    val beat = Beat()
    beat.fetch := current
    beat.first := first
    beat.last  := ends || lastRow

    val chosen = UIntToOh(current.source, p.latencies.size)
    io.rows := LaneMemoryPort.rows(current.row, nextRow, current.shift)
    // The memory is enabled by `busy` and not by `go`, which is late in the cycle. A read of the
    // memory that turns out not to be needed does no harm.
    io.enables := chosen.andMask(busy)
    io.fetched := chosen.andMask(go && closes)
  }

  // The beats that are being read from memories. The data of the beat in line(k) comes in k cycles.
  val flight = new Area {
    val depth = p.latencies.max
    val valid = Vec.fill(depth)(RegInit(False))
    val line  = Vec.fill(depth)(Reg(Beat()))
    def ofLatency(latency: Int) = p.latencies.zipWithIndex.collect {
      case (`latency`, n) => issue.chosen(n)
    }.fold(False)(_ || _)
    val enters = (0 until depth).map(k => ofLatency(k + 1))
    for (k <- 0 until depth) {
      val ahead = k + 1 < depth
      valid(k) := (if (ahead) valid(k + 1) else False) || (issue.go && enters(k))
      line(k)  := (if (ahead) valid(k + 1) ? line(k + 1) | issue.beat else issue.beat)
    }
    issue.hazard := (1 until depth).map(k => enters(k - 1) && valid.drop(k).orR).fold(False)(_ || _)
  }

  // The beat whose data the memory shows in this cycle.
  val arrived = new Area {
    val valid = flight.valid(0)
    val beat  = flight.line(0)
    val fetch = beat.fetch
    val lanes = io.data.read(fetch.source)

    // A completion ends with its piece, or with the host's read if that ends first.
    val lastRows = ~fetch.row(PieceRowBits - 1 downto 0) & io.pieceMask
    val toCut    = ((lastRows +^ U(1)) << 3) - fetch.shift
    val closes   = fetch.left < toCut
    val bytes    = ((fetch.left +^ U(1)) << 2) - (fetch.firstGap +^ fetch.lastGap)

    val opening = CompletionHeader()
    opening.readNumber   := fetch.readNumber
    opening.status       := fetch.status
    opening.lowerAddress := fetch.row(1 downto 0) @@ fetch.shift @@ fetch.firstGap
    opening.byteCount    := bytes
    opening.dwords       := (closes ? (fetch.left + 1).resize(8) | toCut.resize(8))
    opening.final_       := closes
    when(fetch.isError) {
      opening.dwords := 0
      opening.final_ := True
    }
    // The header is computed from the first beat of a piece and then held, since the values of
    // later beats count from another row.
    val held   = RegNextWhen(opening, valid && beat.first)
    val header = beat.first ? opening | held
  }

  val output = new Area {
    // A header may leave the FIFO at once, and a register follows. The beat's data is written to a
    // memory and read in the next cycle, so it needs no bypass. The push ignores `ready`: a place
    // in the FIFO was reserved (`room`) before the beat's data was fetched.
    val headers = new StreamFifo(
      Fragment(CompletionHeader()),
      roomBeats,
      withAsyncRead = true,
      withBypass = true
    )
    headers.io.push.valid    := arrived.valid
    headers.io.push.last     := arrived.beat.last
    headers.io.push.fragment := arrived.header
    val header = headers.io.pop.m2sPipe()

    // The even part of the rotation from lane order is in front of the memory and the odd part
    // behind it, which gives two short paths. All beats of a completion are rotated alike, so the
    // lower address in the header says by how many lanes.
    val data          = Mem(Bits(HardBlock.DataWidth bits), roomBeats)
    val stored, given = Reg(UInt(log2Up(roomBeats) bits)) init 0
    data.write(
      stored,
      LaneMemoryPort.turnBackEven(arrived.lanes, arrived.fetch.shift),
      arrived.valid
    )
    stored := stored + arrived.valid.asUInt
    given  := given + header.fire.asUInt

    val half  = data.readAsync(given)
    val shift = header.lowerAddress(4 downto 2)
    io.beats.arbitrationFrom(header)
    io.beats.last   := header.last
    io.beats.header := header.fragment
    io.beats.data   := LaneMemoryPort.turnBackOdd(half, shift)

    val taken = Reg(UInt(log2Up(roomBeats + 1) bits)) init 0
    taken := taken + issue.go.asUInt - io.beats.fire.asUInt
    room  := !taken.msb
  }
}

object CompletionBuilder {

  /** An order to CompletionBuilder: fetch data from a lane memory (32 bytes a row) and send it as
    * completions.
    *
    * `left` counts from the start of this fetch to the end of the request. The last four bits of
    * `row` are bits 5 to 8 of the byte address. A completion ends with the row in which these bits
    * are all ones, as far as they are below the largest payload size.
    */
  case class Fetch(p: MmioParam) extends Bundle {
    val readNumber = UInt(MmioParam.ReadNumberWidth bits)
    // The number of the lane memory that the data is fetched from (MmioParam).
    val source = UInt(p.sourceWidth bits)
    val row    = UInt(p.rowWidth bits)
    // Lane (0 to 7) of the first row in which the first dword of the data is.
    val shift = UInt(3 bits)
    // Dwords from the start of this fetch to the end of the host's read, less one.
    val left = UInt(10 bits)
    // Bytes in front of the first enabled byte in the first dword of the fetch.
    val firstGap = UInt(2 bits)
    // Bytes behind the last enabled byte in the last dword of the host's read.
    val lastGap  = UInt(2 bits)
    val status   = Bits(3 bits)
    val onePiece = Bool() // The fetch gives one completion; its read may have more fetches.
    val closes   = Bool() // The fetch is the last one of the host's read.

    def isError = status =/= CompletionStatus.Success
  }

  /** The header of a completion for the host, without the fields that MmioBridge keeps under the
    * number of the completion's read.
    */
  case class CompletionHeader() extends Bundle {
    val readNumber   = UInt(MmioParam.ReadNumberWidth bits)
    val status       = Bits(3 bits)
    val lowerAddress = UInt(7 bits)
    val byteCount    = UInt(Numbers.ByteCountWidth bits)
    val dwords       = UInt(8 bits)
    val final_       = Bool()
  }

  /** A beat of a completion for the host. Every beat carries the completion's header. */
  case class CompletionBeat() extends Bundle {
    val header = CompletionHeader()
    val data   = Bits(HardBlock.DataWidth bits)
  }
}
