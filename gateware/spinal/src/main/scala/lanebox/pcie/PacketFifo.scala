// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** A FIFO that gives a packet only when it holds all of it, so `valid` never falls inside a packet.
  *
  * Takes and gives a beat in every cycle. `depth` beats must hold the largest packet: a larger one
  * would wait for ever. The module that fills the FIFO must check that.
  */
case class PacketFifo[T <: Data](payload: HardType[T], depth: Int) extends Component {
  require(isPow2(depth), s"a packet FIFO of $depth beats: the depth must be a power of two")

  val io = new Bundle {
    val push = slave(Stream(Fragment(payload())))
    val pop  = master(Stream(Fragment(payload())))
  }

  val beats   = StreamFifo(Fragment(payload()), depth)
  val packets = Reg(UInt(log2Up(depth + 1) bits)) init 0
  val whole   = RegInit(False) // `packets =/= 0`, without the adder in the path of `valid`.

  beats.io.push << io.push
  io.pop << beats.io.pop.continueWhen(whole)

  val entered = io.push.fire && io.push.last
  val left    = io.pop.fire && io.pop.last
  packets := packets + entered.asUInt - left.asUInt
  whole   := (packets =/= 0 && !(packets === 1 && left)) || entered
}
