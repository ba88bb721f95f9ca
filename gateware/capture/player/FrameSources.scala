// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.player

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.Frames

/** Joins the frames of several sources into one stream, whole frame by whole frame.
  *
  * Sources that have frames take turns. A source that has begun a frame keeps the stream until the
  * frame has ended, so sources must not begin a frame before all of it is there.
  */
case class FrameSources(sources: Int) extends Component {
  require(sources >= 2, s"$sources sources of frames: one needs nothing to join it")
  val io = new Bundle {
    val inputs = Vec(slave(Frames()), sources)
    val output = master(Frames())
  }
  val turns = StreamArbiterFactory().roundRobin.fragmentLock.build(
    Fragment(Frames.Beat()),
    sources
  )
  for ((input, source) <- turns.io.inputs.zip(io.inputs)) input << source
  io.output << turns.io.output.m2sPipe()
}

object FrameSources {

  /** Sizes of the store of a source that does not know its frames beforehand: FrameCopy and
    * SlotFrames.
    */
  val StoreBeats  = 512
  val StoreFrames = 32
}
