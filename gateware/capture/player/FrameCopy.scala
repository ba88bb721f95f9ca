// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.player

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.{Frames, HardBlock}

/** Copies the frames of a stream between two other blocks, and never holds that stream up.
  *
  * {{{
  *   copied ---> fits? ---+--- beats, 16 KiB ---+---> frames
  *                 |      +--- heads, 32 -------+
  *                 +---> lost
  * }}}
  *
  * A frame is copied whole or lost whole: `lost` is a pulse for each frame that finds no room. A
  * copy leaves when all of its frame is there. Its time is that of the frame's first beat.
  *
  * Frames that begin while `on` is low are not copied and not counted. When `on` falls, a copy
  * that is leaving leaves whole, and all others are dropped.
  */
case class FrameCopy(port: Int, flags: Int) extends Component {
  val io = new Bundle {
    val on     = in Bool ()
    val now    = in UInt (64 bits)
    val copied = slave(Flow(Fragment(Frames.Beat())))
    val frames = master(Frames())
    val begun  = master(Flow(UInt(64 bits))) // See FrameSources.
    val lost   = out Bool ()
    val busy   = out Bool ()
  }
  import FrameCopy._

  val beats = StreamFifo(Fragment(Bits(HardBlock.DataWidth bits)), StoreBeats)
  val heads = StreamFifo(Head(), StoreFrames)
  // The times of all frames whose copies have begun and have not left. It has room for one that
  // begins, since `heads` has room for it.
  val times = StreamFifo(UInt(64 bits), StoreFrames, latency = 1)
  times.logic.ram.addAttribute("ram_style", "distributed")

  // A frame is offered or leaves now, so the stores cannot be emptied.
  val leaves  = RegInit(False)
  val opened  = RegInit(False)
  val emptied = !opened && !leaves
  opened         := io.on && (opened || emptied)
  beats.io.flush := emptied
  heads.io.flush := emptied
  times.io.flush := emptied

  val intake = new Area {
    val beat  = io.copied.m2sPipe()
    val now   = RegNext(io.now)
    val first = RegNextWhen(beat.last, beat.valid) init True
    val rows  = (beat.head.kept +^ U(Frames.BeatBytes - 1)) >> 5
    val room  = beats.io.availability >= rows && heads.io.availability =/= 0
    // Stays low for the rest of a frame in which `on` fell, even if `on` rises before its end.
    val going = RegInit(False)
    val keeps = opened && (first ? room | going)
    when(beat.valid || !opened) { going := keeps }
    val begun = Head()
    begun.original := beat.head.original
    begun.kept     := beat.head.kept
    begun.error    := beat.error
    val head = first ? begun | RegNextWhen(begun, beat.valid && first)

    // All stores have room for the whole frame, or nothing of it is stored.
    beats.io.push.valid    := beat.valid && keeps
    beats.io.push.fragment := beat.data
    beats.io.push.last     := beat.last
    heads.io.push.valid    := beat.valid && keeps && beat.last
    heads.io.push.payload  := head
    times.io.push.valid    := beat.valid && keeps && first
    times.io.push.payload  := now
    io.lost                := beat.valid && first && opened && !room
  }

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
    beat.head.port     := port
    beat.head.flags    := flags
    val whole = Frames.withHead(heads.io.pop, beats.io.pop)
    val goes  = opened || leaves
    io.frames << whole.continueWhen(goes).translateWith(beat)
    when(io.frames.valid) { leaves := !(io.frames.ready && io.frames.last) }
  }
  times.io.pop.ready := heads.io.pop.fire
  io.begun.valid     := times.io.pop.valid
  io.begun.payload   := times.io.pop.payload
  io.busy            := intake.beat.valid || io.begun.valid
}

object FrameCopy {
  val StoreBeats  = FrameSources.StoreBeats
  val StoreFrames = FrameSources.StoreFrames

  /** The fields of a frame's head that the store keeps, and the frame's `error`. */
  case class Head() extends Bundle {
    val original = UInt(16 bits)
    val kept     = UInt(Frames.LengthWidth bits)
    val error    = Bool()
  }
}
