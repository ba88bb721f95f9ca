// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.queues

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.Frames

/** HeaderWindow and FrameParser together, as in FrameSorter. */
case class ParserDut() extends Component {
  val io = new Bundle {
    val frames = slave(Frames())
    val key    = master(Stream(FlowKey()))
  }
  val window = HeaderWindow()
  val parser = FrameParser()
  window.io.beat << io.frames.continueWhen(window.io.ready).toFlow
  parser.io.window << window.io.window
  window.io.soon  := parser.io.soon
  window.io.place := parser.io.place
  parser.io.word  := window.io.word
  parser.io.flags := window.io.flags
  io.key << parser.io.key
}
