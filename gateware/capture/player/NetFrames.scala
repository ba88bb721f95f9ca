// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.player

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.{Frames, Numbers}

/** Copies the frames that a net device receives and sends, for the capture block. `frames(0)` has
  * the received ones, `frames(1)` those that were sent.
  *
  * Both directions have the same port. A frame's flags are those of pcapng's epb_flags: bit 0 for a
  * frame that was received, bit 1 for one that was sent.
  *
  * `lost` counts the frames that found no room since `on` rose. It stops at its largest value.
  */
case class NetFrames() extends Component {
  val io = new Bundle {
    val on             = in Bool ()
    val now            = in UInt (64 bits)
    val received, sent = slave(Flow(Fragment(Frames.Beat())))
    val frames         = Vec(master(Frames()), 2)
    val begun          = Vec(master(Flow(UInt(64 bits))), 2) // See FrameSources.
    val lost           = out UInt (32 bits)
    val busy           = out Bool ()
  }
  val received = FrameCopy(Numbers.CaptureNetPort, Numbers.PcapngInbound)
  val sent     = FrameCopy(Numbers.CaptureNetPort, Numbers.PcapngOutbound)
  val copies   = Seq(received, sent)
  received.io.copied << io.received
  sent.io.copied << io.sent
  for (copy <- copies) {
    copy.io.on  := io.on
    copy.io.now := io.now
  }
  for (((copy, frames), begun) <- copies.zip(io.frames).zip(io.begun)) {
    frames << copy.io.frames
    begun << copy.io.begun
  }
  io.busy := copies.map(_.io.busy).orR

  val lost = Reg(UInt(32 bits)) init 0
  val news = RegNext(CountOne(copies.map(_.io.lost))) init 0
  lost := lost +| news.resize(32)
  when(io.on.rise(initAt = False)) { lost := 0 }
  io.lost := lost
}
