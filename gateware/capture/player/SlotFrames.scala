// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.player

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.{Frames, HardBlock, Numbers}

/** Makes frames of the packets that the logic in the user slot sends, like a sensor.
  *
  * A packet waits in a store of 16 KiB until its end. So slow logic holds other sources up only as
  * long as FrameSources says, and the frame's length is known when the frame leaves. The frame's
  * time is that at which the packet's first beat was taken. While the store is full the logic
  * waits: no packet is lost.
  *
  * No more is kept of a packet than 16352 bytes. The rest is taken and dropped, and `original` has
  * the packet's length, up to 65535.
  */
case class SlotFrames() extends Component {
  val io = new Bundle {
    val now    = in UInt (64 bits)
    val port   = in UInt (Frames.PortWidth bits)
    val stream = slave(Stream(Fragment(SlotFrames.Beat())))
    val frames = master(Frames())
    val begun  = master(Flow(UInt(64 bits))) // See FrameSources.
    val busy   = out Bool ()
  }
  import SlotFrames._

  val beats = StreamFifo(Fragment(Bits(HardBlock.DataWidth bits)), StoreBeats)
  val heads = StreamFifo(Head(), StoreFrames)
  // The times of all packets that have begun and have not left as frames. It has room for one that
  // begins, since `heads` has room for it.
  val times = StreamFifo(UInt(64 bits), StoreFrames, latency = 1)
  times.logic.ram.addAttribute("ram_style", "distributed")

  /** Measures the present packet, beat by beat. */
  val packet = new Area {
    // Beats of the packet before this one. The count stops at its largest value.
    val count  = Reg(UInt(LongestWidth bits)) init 0
    val first  = count === 0
    val stores = count < MostBeats
    val cuts   = count === MostBeats - 1
    val last   = io.stream.last
    when(io.stream.fire) { count := last ? U(0) | count + (!count.andR).asUInt }
    val whole  = io.stream.bytes === 0 || io.stream.bytes.msb
    val bytes  = whole ? U(Frames.BeatBytes, Numbers.StreamBytes bits) | io.stream.bytes
    val length = (count @@ U(0, 5 bits)) +^ bytes
    val most   = U(MostBeats * Frames.BeatBytes, Frames.LengthWidth bits)
  }
  import packet.{first, last, length, most, stores}

  // StreamFork is not used: its `ready` would depend on which of both stores takes the beat, and so
  // on `last` and the count. Here a beat waits until both have room.
  io.stream.ready        := beats.io.push.ready && heads.io.push.ready
  beats.io.push.valid    := io.stream.fire && stores
  beats.io.push.fragment := io.stream.data
  beats.io.push.last     := last || packet.cuts

  val stored = heads.io.push.payload
  heads.io.push.valid := io.stream.fire && last
  stored.original     := (length > 0xffff) ? U(0xffff, 16 bits) | length.resize(16)
  stored.kept         := (length > most) ? most | length.resize(Frames.LengthWidth)
  stored.error        := io.stream.error

  times.io.push.valid   := io.stream.fire && first
  times.io.push.payload := io.now
  times.io.pop.ready    := heads.io.pop.fire
  io.begun.valid        := times.io.pop.valid
  io.begun.payload      := times.io.pop.payload

  val leave = new Area {
    val found = heads.io.pop.payload
    val beat  = Fragment(Frames.Beat())
    beat.data          := beats.io.pop.fragment
    beat.last          := beats.io.pop.last
    beat.bytes         := found.kept.resize(5)
    beat.error         := found.error
    beat.head.time     := times.io.pop.payload
    beat.head.original := found.original
    beat.head.kept     := found.kept
    beat.head.port     := io.port
    beat.head.flags    := 0
    io.frames << Frames.withHead(heads.io.pop, beats.io.pop).translateWith(beat)
  }
  io.busy := io.begun.valid || io.stream.valid
}

object SlotFrames {
  val StoreBeats  = FrameSources.StoreBeats
  val StoreFrames = FrameSources.StoreFrames

  /** The fields of a frame's head that the store keeps, and the frame's `error`. */
  case class Head() extends Bundle {
    val original = UInt(16 bits)
    val kept     = UInt(Frames.LengthWidth bits)
    val error    = Bool()
  }

  /** The most beats of a packet that are kept: one less than the store has. */
  val MostBeats = StoreBeats - 1

  // The width of a count of beats. A packet with more beats than this width can count has at least
  // 65536 bytes, so its length is given as 65535.
  val LongestWidth = 12

  /** A beat of the stream. stream_layout() of vocabulary/layouts.py describes the fields. */
  case class Beat() extends Bundle {
    val data = Bits(HardBlock.DataWidth bits)
    // Valid bytes in the packet's last beat. 0 and 32 both mean that all 32 bytes are valid.
    val bytes = UInt(Numbers.StreamBytes bits)
    val error = Bool() // With the last beat: the packet is bad.
  }
}
