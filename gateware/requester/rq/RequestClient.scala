// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rq

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.{HardBlock, ModuleName, Request}

/** Takes one client's requests in order, cuts them into pieces of one TLP each, and stores their
  * write data.
  *
  * A piece is offered at `piece` when all its data is in the store. `freed` brings the number of
  * the oldest row (32 bytes) of the store that is still needed.
  */
case class RequestClient(p: RequestParam, config: ClientConfig) extends Component {
  ModuleName(this, config.name)
  val io = new Bundle {
    val payloadDwords, readDwords = in UInt (8 bits)
    val stop                      = in Bool ()
    val request                   = slave(Stream(Fragment(Request())))
    val piece                     = master(Stream(RequestPiece(p)))
    val start                     = config.writes generate (in UInt (p.positionBits bits))
    val next                      = config.writes generate (in UInt (p.rowBits bits))
    val data                      = config.writes generate (out Bits (HardBlock.DataWidth bits))
    val freed                     = config.writes generate slave(Flow(UInt(p.rowBits bits)))
    val entered                   = out Bool () // A pulse: the last beat of a request is taken.
    val enteredWrite              = out Bool () // Valid with `entered`: the request is a write.
  }
  val pieceFifoDepth = 16

  // A read is one beat, so a client that only reads is never in the middle of a request.
  val entry = new Area {
    val inRequest = if (config.writes) RegInit(False) else False
    if (config.writes) when(io.request.fire)(inRequest := !io.request.last)
    val mayBegin = !(io.stop && !inRequest)
    val held     = io.request.continueWhen(mayBegin).m2sPipe()
    val first    = if (config.writes) RegNextWhen(held.last, held.fire) init True else True
    io.entered      := io.request.fire && io.request.last
    io.enteredWrite := io.request.write
  }
  import entry.held
  val writes = if (config.reads && config.writes) held.write else Bool(config.writes)

  val cutter = RequestCutter(p)
  cutter.io.payloadDwords := io.payloadDwords
  cutter.io.readDwords    := io.readDwords

  val store = config.writes generate new Area {
    val row   = Reg(UInt(p.rowBits bits)) init 0
    val freed = Reg(UInt(p.rowBits bits)) init 0
    val room  = RegInit(False)
    val taken = held.fire && writes
    when(taken)(row            := row + 1)
    when(io.freed.valid)(freed := io.freed.payload)
    // `room` keeps one row of the store free: it is a cycle late, and a beat may come in meanwhile.
    room := row - freed < p.storeBeats - 1

    val lanes = RequestLanes(p)
    lanes.io.write.valid   := taken
    lanes.io.write.payload := held.data
    lanes.io.row           := row
    lanes.io.start         := io.start
    lanes.io.next          := io.next
    io.data                := lanes.io.data
  }

  val room = if (config.writes) store.room || !writes else True
  // The cutter's `ready` is late in the cycle, and `held.ready` goes on into the client's own
  // logic. So the headers go through a FIFO, and the FIFO's room is registered. The register does
  // not count the latest header yet, so it asks for room for two headers. No stream operator fits:
  // only the first beat of a request has a header, and all others pass without room for one.
  val headers       = StreamFifo(RequestCutter.Header(p), 4, latency = 1)
  val roomForHeader = RegNext(headers.io.availability > 1) init False
  headers.logic.ram.addAttribute("ram_style", "distributed")
  held.ready := room && (!entry.first || roomForHeader)

  val header = headers.io.push
  header.valid      := held.valid && held.ready && entry.first
  header.write      := writes
  header.address    := held.address >> 2
  header.dwords     := held.dwords
  header.firstBe    := held.firstBe
  header.lastBe     := held.lastBe
  header.attributes := held.attributes
  header.context    := held.context
  header.row        := (if (config.writes) store.row else U(0))
  cutter.io.request << headers.io.pop

  val pieces = StreamFifo(RequestPiece(p), pieceFifoDepth, latency = 1)
  // The room of the FIFO of pieces is registered to keep the path short. It does not count the
  // latest piece yet, so it asks for room for two pieces. continueWhen is not used: it would add
  // the FIFO's own `ready` to that path.
  val roomForPiece = RegNext(pieces.io.availability > 1) init False
  pieces.io.push.valid   := cutter.io.pieces.valid && roomForPiece
  pieces.io.push.payload := cutter.io.pieces.payload
  cutter.io.pieces.ready := roomForPiece
  val oldest = pieces.io.pop
  val whole =
    if (config.writes) !oldest.write || !(store.row - oldest.lastRow - 1).msb else True
  io.piece << oldest.continueWhen(whole).m2sPipe()

  assert(!held.valid || held.write || held.last, s"${config.name}: a read of more than one beat")
  assert(
    !held.valid || held.write && Bool(config.writes) || !held.write && Bool(config.reads),
    s"${config.name}: a request of a kind that this client was not made for"
  )
}
