// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rc

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.{HardBlock, LargestRead, Numbers, ReadError}

/** Says which rows of one client's ring in the landing memory are delivered to the client, in the
  * order of the client's reads.
  *
  * A read's first beat leaves when the read has ended. Then a beat may leave in every cycle. Every
  * beat of a read that failed is zero and carries the error, even a beat that also holds dwords of
  * the client's next read.
  */
case class LandingReader(p: ReturnParam) extends Component {
  import LandingReader._
  val io = new Bundle {
    // After reset: number of the read whose mark (the sign that it has ended) is cleared.
    val clear    = slave(Flow(UInt(p.orderWidth bits)))
    val awaited  = slave(Flow(ReadClaims.AwaitedRead()))
    val finished = slave(Flow(ReadEnds.FinishedRead(p)))
    val beat     = master(Stream(Beat(p)))
    val end      = in(ReadClaims.RingEnd(p))
    val room     = out Bool ()
    val idle     = out Bool ()
  }

  /** Says that a read has ended, and with what error. `round` toggles with each round of the read
    * numbers, so an old mark under the same number is not taken for a new one.
    */
  case class Mark() extends Bundle {
    val round = Bool()
    val error = ReadError()
  }
  val marks   = Mem(Mark(), p.reads)
  val written = Mark()
  written.round := io.clear.valid ? True | io.finished.order.msb
  written.error := io.finished.error
  marks.write(
    address = io.clear.valid ? io.clear.payload | io.finished.order.resize(p.orderWidth bits),
    data = written,
    enable = io.clear.valid || io.finished.valid
  )

  case class Ended() extends Bundle {
    val read  = ReadClaims.AwaitedRead()
    val error = ReadError()
  }
  val queue = new StreamFifo(ReadClaims.AwaitedRead(), p.reads)
  queue.io.push << io.awaited.toStream // The queue is never full, because `room` falls before.
  val next     = queue.io.pop.m2sPipe()
  val order    = Reg(UInt(p.orderWidth + 1 bits)) init 0
  val mark     = marks.readAsync(order.resize(p.orderWidth bits))
  val ended    = Stream(Ended())
  val hasEnded = mark.round === order.msb
  ended.arbitrationFrom(next.continueWhen(hasEnded))
  ended.read  := next.payload
  ended.error := mark.error
  when(ended.fire) { order := order + 1 }
  val current = ended.m2sPipe()

  val read = current.read
  val row  = Reg(UInt(p.rowWidth bits)) init 0
  val beat = Reg(UInt(5 bits)) init 0
  val last = beat + 1 === read.beats
  // With `none` the read fills a part of one beat, which a later read of the request delivers.
  val none  = read.beats === 0
  val carry = Reg(ReadError()) init ReadError.none
  val error = (beat === 0 && carry =/= ReadError.none) ? carry | current.error
  // No stream operator fits: a read becomes as many beats as it has data for, or none.
  io.beat.valid         := current.valid && !none
  io.beat.row           := row
  io.beat.lastOfRequest := last && read.lastOfRequest
  io.beat.dwords        := read.dwords
  io.beat.context       := read.context
  io.beat.error         := error
  for (lane <- 0 until HardBlock.Dwords)
    io.beat.show(lane) := (!io.beat.lastOfRequest || read.lastDword >= lane) &&
      error === ReadError.none
  // The read is taken with its last beat, or at once if it has no beat.
  current.ready := none || io.beat.ready && last
  when(io.beat.fire) {
    row  := row + 1
    beat := last ? U(0) | beat + 1
  }
  when(current.fire) {
    carry := ReadError.none
    when(read.partial) { carry := none ? error | current.error }
  }

  val room = new Area {
    // `unseen` is the number of reads that `room` does not count yet when it falls, with one to
    // spare. Such reads are five at most: `room` counts a claim four cycles later, and RequestReads
    // holds one more read.
    val unseen = p.ahead + 2
    val used   = RegNext((io.end.dword >> 3) - row)
    val reads  = RegNext(io.end.order - order)
    val rows   = used < p.rows - LandingReader.MostRows * unseen
    val enough = RegNext(rows && reads < p.reads - unseen) init False
    io.room := enough
  }
  val idle = RegNext(queue.io.occupancy === 0 && !next.valid && !current.valid) init False
  io.idle := idle
}

object LandingReader {

  /** The most rows of the ring that one read touches, whole or in part. */
  val MostRows = LargestRead.Dwords / HardBlock.Dwords + 2

  /** A beat that is to be read from the ring in the landing memory and delivered to the client. */
  case class Beat(p: ReturnParam) extends Bundle {
    val row           = UInt(p.rowWidth bits)
    val lastOfRequest = Bool()
    val dwords        = UInt(Numbers.DwordCountWidth bits)
    val context       = Bits(Numbers.ContextWidth bits)
    val error         = ReadError()
    // A bit for each lane: 1 gives the lane's data, 0 gives zero.
    val show = Bits(HardBlock.Dwords bits)
  }
}
