// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture

import spinal.core._

import lanebox.capture.vocabulary.{CaptureParam, QueueFlags}

/** Keeps for each queue the address of its status line and the number of its ring's last segment.
  *
  * The selected queue gets them when they are written. `ownStatus` and `ownLast` are those of the
  * queue `writing`. `placed` says that the queue `placing` has had an address since reset.
  */
case class QueueRings(p: CaptureParam) extends Component {
  val io = new Bundle {
    val select        = in UInt (p.queueWidth bits)
    val statusWritten = in Bool ()
    val lastWritten   = in Bool ()
    val statusAddress = in UInt (64 bits)
    val lastSegment   = in UInt (p.segmentWidth bits)
    val placing       = in UInt (p.queueWidth bits)
    val placed        = out Bool ()
    val writing       = in UInt (p.queueWidth bits)
    val ownStatus     = out UInt (64 bits)
    val ownLast       = out UInt (p.segmentWidth bits)
  }
  val statuses = Mem(UInt(64 bits), p.queues)
  val lasts    = Mem(UInt(p.segmentWidth bits), p.queues)
  for (memory <- Seq(statuses, lasts)) memory.addAttribute("ram_style", "distributed")
  statuses.write(io.select, io.statusAddress, io.statusWritten)
  lasts.write(io.select, io.lastSegment, io.lastWritten)
  io.ownStatus := statuses.readAsync(io.writing)
  io.ownLast   := lasts.readAsync(io.writing)

  val placed = QueueFlags(p)
  when(io.statusWritten) { placed.set(io.select) }
  io.placed := placed.of(io.placing)
}
