// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.record

import spinal.core._
import spinal.lib._

import lanebox.capture.vocabulary.CaptureParam

/** Says which queue MbufPlacer decides on: that of the frame that waits, or one whose MBUF must be
  * closed although no frame of that queue waits.
  *
  * Frames and closing queues have turns one after the other. While no queue must be closed, frames
  * need no cycle for their turns. A turn ends with a decision, or if nothing can be decided.
  */
case class PlacerTurn(p: CaptureParam) extends Component {
  val io = new Bundle {
    // The queue of the frame that waits, if one waits.
    val frame  = slave(Flow(UInt(p.queueWidth bits)))
    val taken  = in Bool ()              // The frame that waits leaves.
    val wanted = in Bits (p.queues bits) // The queues whose MBUF must be closed.
    val done   = in Bool ()              // MbufPlacer has decided about the queue.
    val stuck  = in Bool ()              // MbufPlacer cannot decide about the queue now.
    val queue  = out UInt (p.queueWidth bits)
    val framed = out Bool ()             // The frame that waits has the turn.
    // In the next cycle the turn goes to the other side, to the frames or to the closing queues,
    // although MbufPlacer has not decided. `done` is known too late in the cycle to be in it.
    val gives = out Bool ()
  }
  val framed = RegInit(True)
  // The next queue whose MBUF must be closed. The search for it runs while frames have the turn.
  val own   = Reg(UInt(p.queueWidth bits)) init 0
  val found = io.wanted(own)
  when(framed && !found) { own := own + 1 }

  val leaves  = found && (!io.frame.valid || io.taken || io.stuck)
  val returns = io.done || io.stuck
  io.gives := framed ? (found && (!io.frame.valid || io.stuck)) | io.stuck
  when(framed && leaves) { framed := False }
  when(!framed && returns) {
    framed := True
    own    := own + 1
  }
  io.queue  := framed ? io.frame.payload | own
  io.framed := framed
}
