// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** Numbers the write TLPs and knows how many of them have left the hard block.
  *
  * A write's number counts the writes modulo 32. Reads and messages have bit 5 set and are not
  * waited for: writes may pass reads on their way out, so a read's number may come back late, and a
  * message may be taken back and never leave. Writes never pass each other. So a number that comes
  * back stands for all writes before it, too, and a number that is lost costs nothing. Two numbers
  * of one cycle may be in any order.
  */
case class RequestNumbers() extends Component {
  val io = new Bundle {
    val pins     = in(SequencePins())
    val issue    = in Bool ()        // A write takes `number`; only if `free` is set.
    val free     = out Bool ()
    val number   = out UInt (5 bits)
    val issued   = out UInt (6 bits) // Writes so far, modulo 64.
    val returned = out UInt (6 bits) // Writes that have left, modulo 64; 31 fewer at most.
  }
  val most = 31 // Writes on their way: with 32, none and all would look the same.

  val issued, returned = Reg(UInt(6 bits)) init 0
  when(io.issue)(issued := issued + 1)

  /** How many writes had left with the last one of the cycle, modulo 32. */
  val latest = new Area {
    val pins   = RegNext(io.pins) // Registered: the pins are far away.
    val counts = Vec(pins.numbers.map(_.payload(4 downto 0) + 1))
    val writes = Vec(pins.numbers.map(pin => pin.valid && !pin.payload.msb))
    val second = writes(1) && !(writes(0) && (counts(1) - counts(0)).msb)
    val valid  = RegNext(writes.orR) init False
    val count  = RegNext(second ? counts(1) | counts(0))
  }

  val inside = issued - returned
  val step   = latest.count - returned(4 downto 0)
  when(latest.valid && step <= inside) {
    returned := (returned.msb ^ (latest.count < returned(4 downto 0))).asUInt @@ latest.count
  }

  // From the count of the cycle before: one more write may have been issued since.
  val free = RegInit(True)
  free        := inside < most - 1
  io.free     := free
  io.number   := issued.resized
  io.issued   := issued
  io.returned := returned
}

object RequestNumbers {
  val Read    = 32
  val Message = 33

  def isMessage(number: UInt): Bool = number.msb && number.lsb
}
