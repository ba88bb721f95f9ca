// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.writer

import spinal.core._
import spinal.lib._

import lanebox.capture.vocabulary.CaptureParam

/** Says which queue TransferChooser looks at. Full cells and the round of all queues have turns one
  * after the other: the queue of the oldest full cell, then the next queue of the round. So a queue
  * with little to send has its turn, too, while others always have full cells.
  */
case class WriterTurn(p: CaptureParam) extends Component {
  val io = new Bundle {
    val full  = slave(Flow(UInt(p.queueWidth bits))) // The queue of the oldest full cell.
    val done  = in Bool ()                           // Nothing more is done for this queue.
    val queue = out UInt (p.queueWidth bits)
    val changes = out Bool () // In the next cycle it is another queue's turn.
    val valid   = out Bool () // `queue` has its turn.
  }
  val following = Reg(UInt(p.queueWidth bits)) init 0
  val queue     = Reg(UInt(p.queueWidth bits)) init 0
  val picks     = RegInit(True)
  val isFull    = RegInit(False) // This turn is that of a full cell.

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
