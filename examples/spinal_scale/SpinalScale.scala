// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.{LaneboxConfig, Numbers}

/** Multiplies every 32-bit word of the stream by a power of two: examples/scale in SpinalHDL.
  *
  * SpinalScale takes and gives one beat in every cycle. Bits shifted out of a word are lost.
  */
case class SpinalScale(dataWidth: Int = Numbers.DataWidth, wordWidth: Int = 32) extends Component {
  require(dataWidth % wordWidth == 0, s"a beat of $dataWidth bits has no whole words of $wordWidth")

  val io = new Bundle {
    val shift  = in UInt (log2Up(wordWidth) bits)
    val sink   = slave(Stream(Bits(dataWidth bits)))
    val source = master(Stream(Bits(dataWidth bits)))
  }
  noIoPrefix()

  // The registers before and behind the shifters keep the shifters' delay out of the paths to the
  // neighbouring blocks.
  val before = io.sink.stage()
  val words  = Vec(before.payload.subdivideIn(wordWidth bits).map(_ |<< io.shift))
  val scaled = before.translateWith(words.asBits)
  val behind = scaled.stage()
  io.source << behind
}

object SpinalScaleVerilog extends App {
  LaneboxConfig(targetDirectory = args(0)).generateVerilog(SpinalScale())
}
