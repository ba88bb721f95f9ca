// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.record

import spinal.core._
import spinal.lib._

import lanebox.capture.vocabulary.{CaptureParam, QueueState}
import lanebox.vocabulary.Numbers

/** Counts the cells of the staging memory. `most` is how many of them `queue` may still take, or 15
  * if it may take more. The queue takes `taken` cells while `takes` is high, and one cell comes back
  * to each queue that `freed` names.
  *
  * `free` is the number of cells that no queue has in use. Each queue always has an open cell. A
  * single queue may take all other cells. With several, a queue also stays within its quota, which
  * `quota` may set at any time. The quota counts the open cell, too. A queue whose quota becomes
  * smaller than what the queue has in use takes no cell until enough have come back. The quotas may
  * be more together than the memory has. Then the queues share its cells as their frames come.
  *
  * What a queue has in use is the difference of two counters, since a cell may come back to one
  * queue while another queue takes some. `gone` counts the cells that a queue took, and `come`
  * those that came back.
  */
case class QueueCells(
    p: CaptureParam,
    queue: UInt,
    taken: UInt,
    takes: Bool,
    freed: Flow[UInt],
    quota: Flow[QueueCells.Quota]
) extends Area {
  val width = p.cellWidth + 1
  val free  = Reg(UInt(width bits)) init p.cells - p.queues
  free := free - taken + freed.valid.asUInt
  private def counted(cells: UInt) = (cells > 15) ? U(15, 4 bits) | cells.resized

  val own = p.several generate new Area {
    val walk = QueueState.Walk(p.queueWidth, False)
    val quotas =
      QueueState(UInt(width bits), quota.queue, quota.valid, walk, late = true)(_ =>
        U(p.queueCells, width bits)
      )
    val gone = QueueState(UInt(width bits), queue, takes, walk)(_ => U(0, width bits))
    // A queue begins with its open cell in use, so one cell more has gone than has come.
    val come = QueueState(UInt(width bits), freed.payload, freed.valid, walk)(_ =>
      U((1 << width) - 1, width bits)
    )
    quotas.next := quota.cells
    gone.next   := gone.now + taken
    come.next   := come.now + 1
    // Negative if the quota is smaller than what the queue has in use.
    val left = quotas.of(queue) + come.of(queue) - gone.now
    val most = left.msb ? U(0, 4 bits) | counted(left)
  }
  val most = if (p.several) counted(free) min own.most else counted(free)
}

object QueueCells {

  /** The smallest quota: a queue must be able to hold a frame of any length. */
  val LeastQuota = Numbers.CaptureQuotaLeast

  /** Lets `queue` have `cells` cells of the staging memory in use at once. */
  case class Quota(p: CaptureParam) extends Bundle {
    val queue = UInt(p.queueWidth bits)
    val cells = UInt(p.cellWidth + 1 bits)
  }
}
