// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.vocabulary

import spinal.core._

/** Counts the cycles in which `event` is set, since reset or `clear`. The count wraps.
  *
  * An event goes into a register before it is counted. So the count is a cycle late, and the path
  * from the event into the counter's carry chain is short. An event that is in this register in the
  * cycle of `clear` is not counted.
  */
case class EventCounter(event: Bool, clear: Bool) extends Area {
  val count = Reg(UInt(EventCounter.Width bits)) init 0
  val seen  = RegNext(event) init False
  when(seen)(count  := count + 1)
  when(clear)(count := 0)
}

object EventCounter {
  val Width = 32

  /** A counter that adds all of `amounts` in each cycle. Their sum must fit 7 bits. */
  case class Sum(amounts: Seq[UInt], clear: Bool) extends Area {
    val count = Reg(UInt(Width bits)) init 0
    val seen  = RegNext(amounts.map(_.resize(7 bits)).reduce(_ + _)) init 0
    count             := count + seen
    when(clear)(count := 0)
  }
}
