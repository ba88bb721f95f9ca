// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.queues

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.Frames

/** FrameHeaders and FrameParser together, as in FrameSorter. */
case class ParserDut() extends Component {
  val io = new Bundle {
    val frames = slave(Frames())
    val key    = master(Stream(FlowKey()))
  }
  val headers = FrameHeaders()
  val parser  = FrameParser()
  headers.io.beat << io.frames.continueWhen(headers.io.ready).toFlow
  parser.io.headers << headers.io.headers
  headers.io.soon  := parser.io.soon
  headers.io.place := parser.io.place
  parser.io.word   := headers.io.word
  parser.io.flags  := headers.io.flags
  io.key << parser.io.key
}
