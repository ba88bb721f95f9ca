// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.queue

import spinal.core._

/** Decides whether the driver gets an interrupt for the used entries of the queue that is being
  * served.
  *
  * `used` is the queue's used index, and `told` that of the last decision. The driver's event index
  * decides, or without EVENT_IDX its flag. The device reads either behind its write of the used
  * index. So a driver that looks for used entries after it has allowed interrupts misses none. If
  * the driver wanted the last interrupt, it gets the next one before that read. The read then only
  * decides whether the one after that also comes early.
  */
case class InterruptDecision(
    patience: Int,
    used: UInt,
    told: UInt,
    untold: Bool, // Entries were used since the last decision.
    eager: Bool,  // The driver wanted an interrupt for the last used entry.
    eventIndex: Bool,
    lap: Option[UInt] = None // The mask of indices, if they are modulo a number less than 2^16.
) extends Area {
  val event    = Reg(UInt(16 bits)) // The driver's event index.
  val silent   = Reg(Bool())        // The driver's flag: it wants no interrupt.
  val hurried  = RegInit(False)     // The interrupt was sent before the driver's wish was read.
  val settling = RegInit(False)     // No chain is begun until the interrupt is decided.

  // VirtIO 1.2, 2.7.10: the driver wants an interrupt when the used index passes its event index.
  private def beyond = used - event - 1
  val passed         = RegNext(lap.fold(beyond)(beyond & _) < (used - told))
  // The driver wants an interrupt for the entries that were used since the last decision.
  val announces = untold && (eventIndex ? passed | !silent)
  // The driver wanted an interrupt for the last used entry, so it gets one for new entries at once.
  val hasty = untold && eager

  /** Used entries may wait for `patience` cycles while more chains follow. */
  val waits = new Area {
    val cycles = Reg(UInt(log2Up(patience + 1) bits)) init 0
    val over   = RegInit(False)
    when(!untold) { cycles := 0 } elsewhen (!over) { cycles := cycles + 1 }
    over := (over || cycles === patience) && untold
  }
}
