// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.vocabulary

import spinal.core._

/** One flag for each queue. All flags can be read in one cycle, so they are no memory but
  * registers.
  */
case class QueueFlags(p: CaptureParam) extends Area {
  val bits = Reg(Bits(p.queues bits)) init 0

  def none: Bool               = bits === 0
  def of(queue: UInt): Bool    = if (p.several) bits(queue) else bits(0)
  def set(queue: UInt): Unit   = assign(queue, True)
  def clear(queue: UInt): Unit = assign(queue, False)
  def clearAll(): Unit         = bits := 0
  private def assign(queue: UInt, value: Bool): Unit =
    if (p.several) bits(queue) := value else bits(0) := value
}
