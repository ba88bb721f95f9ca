// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** A landing slot and the client that had it. */
case class FreeSlot(p: ReturnParam) extends Bundle {
  val slot   = UInt(p.slotWidth bits)
  val client = UInt(p.clientWidth bits)
}

/** Free landing slots, and which clients may take one.
  *
  * A few are every client's own, the others anyone's: a client that does not take its data leaves
  * the rest theirs. `room` is for whoever chooses the next claim: a claim chosen by it gets its
  * slot in a bounded time, though `ahead` others are chosen before it is made.
  */
case class SlotPool(p: ReturnParam) extends Component {
  val io = new Bundle {
    val add   = slave(Flow(UInt(p.slotWidth bits))) // After reset.
    val free  = slave(Flow(FreeSlot(p)))
    val taken = slave(Flow(UInt(p.clientWidth bits)))
    val pop   = master(Stream(UInt(p.slotWidth bits)))
    val room  = out Vec (Bool(), p.clients)
  }
  val queue = new StreamFifo(UInt(p.slotWidth bits), p.slots, withAsyncRead = true)
  queue.io.push.valid   := io.add.valid || io.free.valid
  queue.io.push.payload := io.add.valid ? io.add.payload | io.free.slot
  io.pop << queue.io.pop.m2sPipe()

  val shared = Reg(UInt(p.slotWidth + 1 bits)) init (p.slots - p.clients * (p.reserved + p.ahead))
  val borrows, returns = Vec(Bool(), p.clients)
  for (client <- 0 until p.clients) {
    val held  = Reg(UInt(p.slotWidth + 1 bits)) init 0
    val takes = io.taken.valid && io.taken.payload === client
    val gives = io.free.valid && io.free.client === client
    held            := held + takes.asUInt - gives.asUInt
    borrows(client) := takes && !gives && held >= p.reserved + p.ahead
    returns(client) := gives && !takes && held > p.reserved + p.ahead
    io.room(client) := RegNext(held < p.reserved || shared > p.ahead) init False
  }
  shared := shared - borrows.asBits.orR.asUInt + returns.asBits.orR.asUInt

  // For tests: how many there are.
  val free = Reg(UInt(p.slotWidth + 1 bits)) init 0
  free := free + queue.io.push.valid.asUInt - io.pop.fire.asUInt
}
