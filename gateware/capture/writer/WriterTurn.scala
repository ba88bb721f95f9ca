// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.writer

import spinal.core._
import spinal.lib._

import lanebox.capture.vocabulary.CaptureParam

/** Chooses the queue for which TransferChooser chooses a write. Turns alternate: one for the queue
  * of the oldest full cell, then one for the next of all queues. So a queue with little to send has
  * its turn, too, while others always have full cells.
  */
case class WriterTurn(p: CaptureParam) extends Component {
  val io = new Bundle {
    val full  = slave(Flow(UInt(p.queueWidth bits))) // The queue of the oldest full cell.
    val done  = in Bool ()                           // TransferChooser is done with `queue`.
    val queue = out UInt (p.queueWidth bits)
    val changes = out Bool () // In the next cycle another queue has the turn.
    val valid   = out Bool () // `queue` is valid: it has the turn.
  }
  val following = Reg(UInt(p.queueWidth bits)) init 0
  val queue     = Reg(UInt(p.queueWidth bits)) init 0
  val picks     = RegInit(True)
  val isFull    = RegInit(False) // The present turn is that of a full cell.

  val takesFull = io.full.valid && !isFull
  when(io.done) { picks := True }
  when(picks) {
    picks  := False
    isFull := takesFull
    queue  := takesFull ? io.full.payload | following
    when(!takesFull) { following := following + 1 }
  }
  io.queue   := queue
  io.changes := picks
  io.valid   := !picks
}
