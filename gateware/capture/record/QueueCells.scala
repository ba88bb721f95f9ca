// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.record

import spinal.core._
import spinal.lib._

import lanebox.capture.vocabulary.{CaptureParam, QueueState}

/** Counts the cells of the staging memory that `queue` may still take: `free`. The queue takes
  * `taken` of them while `takes` is high, and one comes back to each queue that `freed` names.
  *
  * A single queue has one counter. With several, each queue has two, since a cell may come back to
  * one queue while another queue takes some. `gone` counts the cells that a queue took, and `come`
  * those that it had at the start or that came back.
  */
case class QueueCells(p: CaptureParam, queue: UInt, taken: UInt, takes: Bool, freed: Flow[UInt])
    extends Area {
  val width = p.cellWidth + 1
  val first = p.queueCells - 1
  val free  = if (p.several) UInt(width bits) else (Reg(UInt(width bits)) init first)

  if (!p.several) free := free - taken + freed.valid.asUInt
  val several = p.several generate new Area {
    val walk = QueueState.Walk(p.queueWidth, False)
    val gone = QueueState(UInt(width bits), queue, takes, walk)(_ => U(0, width bits))
    val come =
      QueueState(UInt(width bits), freed.payload, freed.valid, walk)(_ => U(first, width bits))
    gone.next := gone.now + taken
    come.next := come.now + 1
    free      := come.of(queue) - gone.now
  }
}
