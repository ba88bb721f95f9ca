// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.vocabulary

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.HardBlock

/** Connects the engine (master) to the logic behind a pair of queues.
  *
  * The engine gives the rows of a transmitted frame while `free` has room for them, and begins a
  * chain only while `room` is on. It takes received frames from `frame` as FrameStore gives them.
  */
case class FarPort(p: EngineParam) extends Bundle with IMasterSlave {
  val row    = Flow(Row())
  val forget = Bool() // The rows since the end of the last frame are dropped.
  val free   = UInt(p.rowWidth + 1 bits)
  val room   = Bool()

  val frame = Stream(UInt(p.frameWidth bits))
  val place = UInt(p.rowWidth bits)
  val read  = UInt(p.rowWidth bits)
  val rest  = Bool() // All rows of the frames that were taken have been read.
  val shows = Bool() // Otherwise `data` is 0 in the next cycle.
  val data  = Bits(HardBlock.DataWidth bits)

  val runs  = Bool() // The driver runs the device.
  val live  = Bool() // The driver runs the receive queue.
  val takes = Bool() // A pulse: a chain of the receive queue was taken for `frame`.
  val clear = Bool() // A pulse: the reset of the device ends.
  val lost  = Bool() // A pulse: a received frame was dropped.

  override def asMaster(): Unit = {
    master(row)
    slave(frame)
    out(forget, read, rest, shows, runs, live, takes, clear)
    in(free, room, place, data, lost)
  }
}
