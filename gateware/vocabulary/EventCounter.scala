// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.vocabulary

import spinal.core._

/** Makes a register that counts events since reset or `clear`, and wraps.
  *
  * An event goes into a register before it is counted. So the count is a cycle late, and the path
  * from the event into the counter's carry chain is short. An event that is in this register in the
  * cycle of `clear` is not counted.
  */
object EventCounter {
  val Width = 32

  /** Counts the cycles in which `event` is set. */
  def apply(event: Bool, clear: Bool = False, width: Int = Width): UInt = {
    val counter = Reg(UInt(width bits)) init 0
    val seen    = RegNext(event) init False
    when(seen)(counter  := counter + 1)
    when(clear)(counter := 0)
    counter
  }

  /** Makes a counter with several inputs: in each cycle it adds all values in `events`. The sum of
    * one cycle must fit 7 bits.
    */
  def sum(events: Seq[UInt], clear: Bool): UInt = {
    val counter = Reg(UInt(Width bits)) init 0
    counter             := counter + RegNext(events.map(_.resize(7 bits)).reduce(_ + _)).init(0)
    when(clear)(counter := 0)
    counter
  }
}
