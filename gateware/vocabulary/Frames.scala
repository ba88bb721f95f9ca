// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.vocabulary

import spinal.core._
import spinal.lib._

/** What is known of a frame from its first beat on. */
case class FrameHead() extends Bundle {
  val time     = UInt(64 bits)                 // Of the frame's start, in ns.
  val original = UInt(16 bits)                 // Bytes that the frame had at its source.
  val kept     = UInt(Frames.LengthWidth bits) // Bytes of it that follow here: 1 or more.
  val port     = UInt(Frames.PortWidth bits)
  val flags    = Bits(32 bits)                 // As in pcapng's epb_flags; 0: nothing to say.
}

/** A beat of a frame. Byte 0 of the frame is byte 0 of its first beat.
  *
  * `head` is valid with the first beat, `bytes` with the last. `error` stays the same on every beat:
  * the source found the frame bad. So a source that sees a fault only at the frame's end must hold
  * the frame until then.
  */
case class Frame() extends Bundle {
  val data  = Bits(HardBlock.DataWidth bits)
  val bytes = UInt(5 bits) // In the last beat. 0: all 32.
  val error = Bool()
  val head  = FrameHead()
}

/** The one interface between all that makes frames and all that takes them. */
object Frames {
  val LengthWidth = 14
  val PortWidth   = 4
  val Ports       = 1 << PortWidth
  val BeatBytes   = HardBlock.DataWidth / 8

  def apply() = Stream(Fragment(Frame()))
}
