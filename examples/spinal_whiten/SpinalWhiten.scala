// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.{LaneboxConfig, Numbers}

/** A beat of the slot's streams: the same fields as stream_layout() in
  * gateware/vocabulary/layouts.py.
  */
case class SpinalWhitenBeat(dataWidth: Int) extends Bundle {
  val data  = Bits(dataWidth bits)
  val bytes = UInt(log2Up(dataWidth / 8 + 1) bits)
  val error = Bool()
}

/** XORs each word of the stream with `key`.
  *
  * SpinalWhiten takes and gives one beat in every cycle. A packet keeps its length and its place in
  * the order. The end of each packet is counted, and raises an interrupt.
  */
case class SpinalWhiten(dataWidth: Int = Numbers.DataWidth, keyWidth: Int = 32) extends Component {
  require(dataWidth % keyWidth == 0, s"a beat of $dataWidth bits has no whole words of $keyWidth")

  val io = new Bundle {
    val key     = in Bits (keyWidth bits)
    val packets = out UInt (32 bits)
    val irq     = out Bool ()
    val sink    = slave(Stream(Fragment(SpinalWhitenBeat(dataWidth))))
    val source  = master(Stream(Fragment(SpinalWhitenBeat(dataWidth))))
  }
  noIoPrefix()

  val changed = Fragment(SpinalWhitenBeat(dataWidth))
  changed.last           := io.sink.last
  changed.fragment.data  := io.sink.fragment.data ^ (io.key #* (dataWidth / keyWidth))
  changed.fragment.bytes := io.sink.fragment.bytes
  changed.fragment.error := io.sink.fragment.error

  // A register holds one beat, with its `last`, `bytes` and `error`, until the card takes it.
  val held = io.sink.translateWith(changed).stage()
  io.source << held

  // A beat leaves only in a cycle with `valid` and `ready`; with `valid` alone it is only offered.
  val leaves = io.source.fire && io.source.last
  io.irq := RegNext(leaves) init False

  val counted = Reg(UInt(32 bits)) init 0
  io.packets := counted
  when(leaves) { counted := counted + 1 }
}

object SpinalWhitenVerilog extends App {
  LaneboxConfig(targetDirectory = args(0)).generateVerilog(SpinalWhiten())
}
