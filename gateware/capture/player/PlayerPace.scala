// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.player

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.{Frames, Numbers}

/** Passes the head of each frame on at the time at which the frame is due.
  *
  *   - `fast`: a frame is due as soon as its head has come.
  *   - `recorded`: the first frame is due at once. Each other frame is due as long after the first
  *     one as the recorded times say. A frame that comes late leaves at once, and does not delay
  *     the frames behind it.
  *   - `rate`: a frame costs bytes, which are paid off at `rate` bytes a cycle. The next frame is
  *     due when they are paid. The cost is `overhead` alone if `perPacket` is on. Otherwise it is
  *     `overhead` plus the frame's length at its source, which counts as `least` if it is shorter.
  *     If frames come too slowly, the bytes that they did not use may be spent later, up to 16 KiB.
  */
case class PlayerPace() extends Component {
  import PlayerPace._

  val io = new Bundle {
    val clear    = in Bool ()
    val settings = in(Settings())
    val now      = in UInt (64 bits)
    val heads    = slave(Stream(Frames.Head()))
    val due      = master(Stream(Frames.Head()))
    val waits    = out Bool () // A frame is not due yet, so device time must run.
  }

  /** The first frame sets how far device time is ahead of recorded time. */
  val schedule = new Area {
    val known = RegInit(False)
    val ahead = Reg(UInt(64 bits))
    // `ready` is registered, since the capture block decides late in a cycle whether it has room.
    // So a head takes two cycles in this stage. BlockAligner needs as many for the shortest block
    // with a packet.
    val head = io.heads.halfPipe(flush = io.clear)
    // The first frame also waits for its time, so the distance from it to the second frame is
    // exact.
    val soon = RegNext(io.now + Lead)
    when(head.valid && !known) {
      ahead := soon - head.time
      known := True
    }
    when(io.clear) { known := False }
    val timed = Timed()
    val bytes = head.original.max(io.settings.least.resized)
    timed.head := head.payload
    timed.at   := head.time + ahead
    timed.cost := (io.settings.perPacket ? U(0) | bytes) +^ io.settings.overhead
    val out = head.haltWhen(!known).translateWith(timed).m2sPipe(flush = io.clear)
  }
  val frame = schedule.out

  // `late` and `account.paid` are a cycle late, so they count only for a frame that already was
  // offered a cycle ago.
  val waited = RegNext(frame.valid && !frame.ready) init False
  // The difference has a sign: a frame may have been recorded before the first one.
  val late = RegNext(!(io.now - frame.at).msb) init False

  val account = new Area {
    val debt  = Reg(SInt(CostWidth + FractionBits + 2 bits)) init 0
    val paid  = RegNext(debt <= 0) init False
    val least = -S(BigInt(1) << (14 + FractionBits), debt.getWidth bits)
    val earns = debt > least
    val rate  = io.settings.rate.resize(debt.getWidth).asSInt
    val cost  = (frame.cost << FractionBits).resize(debt.getWidth).asSInt
    when(frame.fire) { debt := debt + cost - rate } elsewhen earns { debt := debt - rate }
    // Before the first frame no bytes are saved up, and none are owed.
    when(io.clear || !schedule.known) { debt := 0 }
  }

  val isDue = True
  when(io.settings.mode === Mode.recorded) { isDue := waited && late }
  when(io.settings.mode === Mode.rate) { isDue := waited && account.paid }
  io.due << frame.continueWhen(isDue).translateWith(frame.head)
  io.waits := schedule.head.valid || frame.valid
}

object PlayerPace {
  val FractionBits = Numbers.PlayerFractionBits
  val CostWidth    = 17
  val Lead         = 20 // Time in ns from the first frame's arrival until it is due.

  object Mode extends SpinalEnum(binarySequential) {
    setName("PlayerMode")
    val fast, recorded, rate = newElement()
  }

  case class Settings() extends Bundle {
    val mode = Mode()
    // Bytes a cycle. The lowest FractionBits bits are the fraction.
    val rate      = UInt(Numbers.PlayerRateBits bits)
    val overhead  = UInt(Numbers.PlayerCostBits bits)
    val least     = UInt(Numbers.PlayerCostBits bits)
    val perPacket = Bool()
  }

  case class Timed() extends Bundle {
    val head = Frames.Head()
    val at   = UInt(64 bits) // Device time at which the frame is due, in the mode `recorded`.
    val cost = UInt(CostWidth bits)
  }
}
