// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import spinal.core._
import spinal.lib._

import lanebox.virtio.vocabulary.EngineParam
import lanebox.vocabulary.{Frames, HardBlock}

/** Gives the frames of a FrameStore to the net device's far side.
  *
  * A frame leaves when all of it is in the store. A frame that the driver has sent leaves even if
  * the device is reset meanwhile, so a sink never sees half of a frame.
  */
case class NetTransmit(p: EngineParam) extends Component {
  val io = new Bundle {
    val frame = slave(Stream(UInt(p.frameWidth bits)))
    val place = in UInt (p.rowWidth bits)
    val read  = out UInt (p.rowWidth bits)
    val data  = in Bits (HardBlock.DataWidth bits)
    val now   = in UInt (64 bits)
    val h2c   = master(Frames())
    val busy  = out Bool ()
  }

  /** A row as it waits for the far side, and the length of its frame in bytes. */
  case class Row() extends Bundle {
    val data  = Bits(HardBlock.DataWidth bits)
    val bytes = UInt(Frames.LengthWidth bits)
  }
  val ReadLatency = 3 // Cycles from the choice of a row to its `data`.

  val queue = StreamFifo(Fragment(Row()), 16, latency = 2)
  queue.logic.ram.addAttribute("ram_style", "distributed")

  val ask = new Area {
    val row  = Reg(UInt(p.rowWidth bits)) init 0
    val end  = ((io.frame.payload - 1) >> 5).resize(p.rowWidth)
    val last = row === end
    val room = RegNext(queue.io.availability > ReadLatency + 2) init False
    val asks = io.frame.valid && room
    // No stream operator fits: a frame is offered as one item, and taken when its last row is asked
    // for.
    val read = RegNext(io.place + row)
    io.read        := read
    io.frame.ready := asks && last
    when(asks) { row := last ? U(0, p.rowWidth bits) | (row + 1) }
  }

  val answer = new Area {
    // No stream operator fits: a row comes some cycles after it was asked for, and has room kept.
    val push = queue.io.push
    push.valid := Delay(ask.asks, ReadLatency, init = False)
    push.last  := Delay(ask.last, ReadLatency)
    val bytes = Delay(io.frame.payload.resize(Frames.LengthWidth), ReadLatency)
    push.bytes := bytes
    push.data  := io.data
    assert(!push.valid || push.ready, "a row has no room in the queue")
  }

  val leave = new Area {
    val row  = queue.io.pop
    val beat = Frames.Beat()
    beat.data          := row.data
    beat.bytes         := row.bytes.resized
    beat.error         := False
    beat.head.time     := io.now
    beat.head.original := row.bytes.resized
    beat.head.kept     := row.bytes
    beat.head.port     := 0
    beat.head.flags    := 0
    val out = Fragment(Frames.Beat())
    out.last     := row.last
    out.fragment := beat
    io.h2c << row.translateWith(out).m2sPipe()
  }
  val works = RegNext(io.frame.valid || queue.io.occupancy =/= 0) init False
  io.busy := works || io.h2c.valid
}
