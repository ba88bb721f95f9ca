// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import spinal.core._
import spinal.lib._

import lanebox.virtio.vocabulary.{EngineParam, HostBuffer, HostRequests, Moved, VirtioParam}

/** Reads the buffers of a chain and gives their bytes to BytePacker: from the host to the card.
  *
  * The first `skip` bytes of a chain are not read. Room in the frame store is reserved before a
  * read is asked for. Without room the mover waits for its own reads, and then drops the rest of
  * the chain and counts the bytes: a console's driver waits for its buffer with interrupts off, so
  * the device must not wait for the driver. `lacks` is high from such a drop to the chain's end.
  *
  * `moved` comes when all data of the buffer has come. If the buffer is `alone` in its chain, and
  * there is room for it, the mover takes the next buffer before the data of this one has come. Then
  * `done` comes in place of `moved`, when the chain's data has come. Between `done` and the data of
  * the next chain is a cycle, so that BytePacker can end a frame there: `pause` asks for it.
  */
case class TransmitMover(p: EngineParam) extends Component {
  import HostRequests.{Place, Returned}
  import TransmitMover._
  import VirtioParam.ChunkBeats

  val io = new Bundle {
    val buffer = slave(Stream(HostBuffer()))
    val alone  = in Bool ()
    val idle   = out Bool () // The next buffer is taken at once.
    val quiet  = out Bool () // No buffer is under way, and no data of one.
    val moved  = master(Flow(Moved(p.frameWidth)))
    val done   = out Bool ()
    val failed = out Bool () // With `done`: the host has not given all data of the chain.
    val pause  = out Bool ()
    val ends   = in Bool ()  // The chain has ended, or was given up.
    val free   = in UInt (p.rowWidth + 1 bits)
    val skip   = in UInt (4 bits)
    // Rows of the frame store that the reads under way may still fill.
    val reserved = out UInt (p.rowWidth + 1 bits)
    val lacks    = out Bool ()
    val request  = master(Stream(Place(9)))
    val data     = slave(Flow(Fragment(Returned())))
    val piece    = master(Flow(BytePacker.Piece()))
    val dropped  = master(Flow(UInt(32 bits))) // Bytes of a buffer that were dropped.
  }

  val ask = new Area {
    val active   = RegInit(False)
    val buffer   = Reg(HostBuffer())
    val size     = Reg(UInt(9 bits))        // Bytes of the next read.
    val sized    = RegInit(False)           // `size` is up to date.
    val inFlight = Reg(UInt(log2Up(Chunks + 1) bits)) init 0
    val none     = RegInit(True)            // `inFlight` is 0.
    val dropping = RegInit(False)
    val failed   = RegInit(False)
    val left     = Reg(UInt(4 bits)) init 0 // Bytes of the chain that are still to be skipped.
    val fresh    = RegInit(True)            // The next buffer is the first one of its chain.
    val alone    = Reg(Bool())
    val reserved = Reg(UInt(p.rowWidth + 1 bits)) init 0
    io.lacks    := dropping
    io.reserved := reserved

    // `free` is some cycles old, and the next read needs rows, too.
    val room = RegNext(io.free > reserved + 2 * (ChunkBeats + 2)) init False
    val may  = RegNext(inFlight < Chunks - 1) init False
    val asks = RegInit(False) // The next read is offered, until it is taken.

    // No stream operator fits: `active` stays until the buffer's last read or its last data, and
    // each read changes `buffer`.
    io.buffer.ready := !active
    when(io.buffer.fire) {
      active := True
      buffer := io.buffer.payload
      alone  := io.alone
      fresh  := io.alone
      when(fresh) { left := io.skip }
    }
    val ended = buffer.bytes === 0
    val skips = left =/= 0
    // A chain of a single buffer has more bytes than are skipped.
    val jumps   = active && skips && alone
    val skipped = (sized && skips) || jumps
    val moves   = jumps ? left.resize(9) | size
    // The next read has all bytes that are left of a buffer that is alone.
    val last = alone && buffer.bytes(PlainWidth - 1 downto 0) === size
    size := skips ? ((buffer.bytes < left) ? buffer.bytes.resize(9) | left.resize(9)) | buffer
      .chunk(buffer.bytes)
    // `size` is up to date in the next cycle, if `buffer` stays as it is.
    val stays = active && !ended && !io.request.fire && !skipped
    sized := stays

    when(stays && may && room && !dropping && !skips) { asks := True }
    io.request.valid   := asks
    io.request.address := buffer.address
    io.request.bytes   := size
    when(io.request.fire || skipped) {
      buffer.address := buffer.address + moves
      buffer.bytes   := buffer.bytes - moves
    }
    when(io.request.fire) {
      may  := False
      asks := False
    }
    when(skipped) { left := left - moves.resized }
    val nothing = none && !io.piece.valid
    // `room` counts the reads in flight, so it is valid some cycles after the last of them ended.
    val quiet = Reg(UInt(3 bits)) init 0
    quiet := (active && nothing && !io.request.fire) ? (quiet.andR ? quiet | (quiet + 1)) | U(
      0,
      3 bits
    )
    when(sized && quiet.andR && !room && !asks) { dropping := True }
    io.dropped.valid   := sized && dropping && quiet.andR && !skips
    io.dropped.payload := buffer.bytes
    when(io.dropped.valid) {
      buffer.bytes := 0
    }
    io.idle         := !active
    io.quiet        := !active && nothing
    io.moved.valid  := active && ended && nothing && !asks && !alone
    io.moved.bytes  := 0
    io.moved.ended  := False
    io.moved.failed := failed
    when(io.moved.valid || (io.request.fire && last)) { active := False }
    assert(!(active && alone && dropping), "a chain was begun without room for it")
    when(io.ends) {
      dropping := False
      failed   := False
      fresh    := True
    }
  }

  val answer = new Area {
    // For each read in flight: the offset of its first byte in a dword, and its number of bytes.
    val chunks = StreamFifo(Chunk(), Chunks, latency = 1)
    // No stream operator fits: `may` keeps room for the read, and a request waits for nothing else.
    chunks.io.push.valid := io.request.fire
    chunks.io.push.start := io.request.address(1 downto 0)
    chunks.io.push.bytes := io.request.bytes
    chunks.io.push.last  := ask.last
    val first = RegNextWhen(io.data.last, io.data.valid) init True
    val left  = Reg(UInt(9 bits)) // Bytes of the read behind this beat.
    val chunk = chunks.io.pop.payload
    val bytes = first ? chunk.bytes | left
    val start = chunk.start.andMask(first)
    val most  = U(BytePacker.Bytes, 6 bits) - start
    val count = (bytes > most) ? most | bytes.resize(6)
    // No stream operator fits: `data` is a flow, and one entry of `chunks` describes all beats of a
    // read.
    left                := (io.data.valid ? (bytes - count) | left)
    chunks.io.pop.ready := io.data.valid && io.data.last

    val piece = Flow(BytePacker.Piece())
    piece.valid := io.data.valid
    piece.data  := io.data.data
    piece.start := start
    piece.bytes := count
    io.piece << piece.m2sPipe
    when(io.data.valid && io.data.failed) { ask.failed := True }
    val ends = io.data.valid && io.data.last
    ask.inFlight := ask.inFlight + io.request.fire.asUInt - ends.asUInt
    ask.none     := !io.request.fire && (ends ? (ask.inFlight === 1) | ask.none)
    ask.reserved := ask.reserved + rows(io.request.bytes).andMask(io.request.fire) -
      rows(chunk.bytes).andMask(ends)

    val last = ends && chunk.last
    io.pause := RegNext(last) init False
    io.done  := RegNext(io.pause) init False
    // No data comes while `pause` is high, so `ask.failed` is the same as a cycle later.
    val fails = RegNext(io.pause && ask.failed) init False
    io.failed := fails
  }
}

object TransmitMover {
  val Chunks     = 64 // The most reads in flight, plus one.
  val PlainWidth = log2Up(VirtioParam.PlainBytes)

  case class Chunk() extends Bundle {
    val start = UInt(2 bits)
    val bytes = UInt(9 bits)
    val last  = Bool() // This read is the last one of a chain of a single buffer.
  }

  /** Returns the most rows for a read of `bytes` bytes: one more than it has beats. */
  private def rows(bytes: UInt): UInt = (bytes >> 5) +^ U(2, 2 bits)
}
