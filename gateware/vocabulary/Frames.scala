// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.vocabulary

import spinal.core._
import spinal.lib._

/** The stream of frames: every source of frames has it as output, and every sink as input. */
object Frames {
  val LengthWidth = Numbers.CaptureLengthBits
  val PortWidth   = Numbers.CapturePortBits
  val Ports       = 1 << PortWidth
  val BeatBytes   = HardBlock.DataWidth / 8

  def apply() = Stream(Fragment(Beat()))

  /** Returns the beats of frames, of which each is held until the head of its frame is there. A
    * head is taken with its frame's last beat.
    */
  def withHead[T <: Data](heads: Stream[_ <: Data], beats: Stream[Fragment[T]]) = {
    // No operator that joins streams is used, since it would take a head with each beat.
    val joined = beats.continueWhen(heads.valid)
    heads.ready := joined.fire && joined.last
    joined
  }

  /** The facts about a frame (a packet of a network, a generator or a sensor) that its source knows
    * when the frame begins. They come with the frame's first beat.
    */
  case class Head() extends Bundle {
    val time     = UInt(64 bits)          // Time at which the frame began, in ns.
    val original = UInt(16 bits)          // Bytes that the frame had at its source.
    val kept     = UInt(LengthWidth bits) // Bytes of the frame that its beats carry: 1 or more.
    val port     = UInt(PortWidth bits)
    val flags    = Bits(32 bits)          // The frame's pcapng epb_flags; 0: no flags.
  }

  /** A beat of a frame. Byte 0 of the frame is byte 0 of its first beat.
    *
    * `head` is valid with the first beat, `bytes` with the last. `error` says that the source found
    * the frame bad. It has the same value on every beat of the frame. So a source that sees a fault
    * only at the frame's end must hold the frame back until then.
    */
  case class Beat() extends Bundle {
    val data  = Bits(HardBlock.DataWidth bits)
    val bytes = UInt(5 bits) // Valid bytes in the frame's last beat; 0 means all 32.
    val error = Bool()
    val head  = Head()
  }
}
