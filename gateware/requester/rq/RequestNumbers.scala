// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rq

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.{HardBlock, Numbers}

/** Gives each write TLP of the card a sequence number, and counts how many write TLPs have left the
  * hard block.
  *
  * The hard block gives a TLP's sequence number back when the TLP has left (PG213,
  * pcie_rq_seq_num). Writes are numbered modulo 32. They never pass each other, so a number that
  * comes back stands for all writes before it, too. A number that is lost is made up for by the
  * next one that comes back, and until then fences wait. Two numbers may come back in one cycle, in
  * any order. Reads and interrupt messages have bit 5 of the number set and are not waited for: a
  * write may pass a read inside the hard block, so the read's number may come back late, and a
  * message may be withdrawn and never leave.
  */
case class RequestNumbers() extends Component {
  val io = new Bundle {
    val pins   = in(HardBlock.SequencePins())
    val issue  = in Bool () // A write TLP takes `number`. Only while `free` is set.
    val free   = out Bool ()
    val number = out UInt (5 bits)
    // Write TLPs that went to RQ so far, and those that have left the hard block, modulo 64.
    val issued, returned = out UInt (Numbers.SequenceWidth bits)
  }
  // The most writes that may be in the hard block. With 32, none and 32 writes in it could not be
  // distinguished, since numbers are modulo 32.
  val most = 31

  val issued, returned = Reg(UInt(Numbers.SequenceWidth bits)) init 0
  when(io.issue)(issued := issued + 1)

  /** Finds from the sequence numbers that come back how many writes have left, modulo 32. */
  val latest = new Area {
    val pins   = RegNext(io.pins) // The hard block's pins are far away, so they are registered.
    val counts = Vec(pins.numbers.map(_.payload(4 downto 0) + 1))
    val writes = Vec(pins.numbers.map(pin => pin.valid && !pin.payload.msb))
    val second = writes(1) && !(writes(0) && (counts(1) - counts(0)).msb)
    val valid  = RegNext(writes.orR) init False
    val count  = RegNext(second ? counts(1) | counts(0))
  }

  val underWay = issued - returned
  val step     = latest.count - returned(4 downto 0)
  when(latest.valid && step <= underWay) {
    returned := (returned.msb ^ (latest.count < returned(4 downto 0))).asUInt @@ latest.count
  }

  // `free` is a cycle late, so one number is kept back for a write that was issued meanwhile.
  val free = RegInit(True)
  free        := underWay < most - 1
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
