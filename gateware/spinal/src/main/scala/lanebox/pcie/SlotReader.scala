// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** Reads one client's slots out of the landing memory, in the client's order.
  *
  * A slot's first beat goes when all its reads are finished; a beat per cycle from there.
  */
case class SlotReader(p: ReturnParam) extends Component {
  val io = new Bundle {
    val closed = slave(Flow(ClosedSlot(p)))
    val slot   = out UInt (p.slotWidth bits) // The next one: where does it stand?
    val status = in(SlotStatus())
    val beat   = master(Stream(SlotBeat(p)))
    val idle   = out Bool ()
  }

  /** A slot that is complete. */
  case class Complete() extends Bundle {
    val slot  = ClosedSlot(p)
    val error = ReadError()
  }

  val closed = new StreamFifo(ClosedSlot(p), p.slots, withAsyncRead = true)
  closed.io.push << io.closed.toStream // Never full: one entry for each slot.
  val next = closed.io.pop.m2sPipe()
  io.slot := next.slot

  val complete = Stream(Complete())
  complete.arbitrationFrom(next.continueWhen(io.status.count === next.target))
  complete.slot  := next.payload
  complete.error := io.status.error
  val current = complete.m2sPipe()

  val beat = Reg(UInt(4 bits)) init 0
  val last = beat === current.slot.lastDword(6 downto 3)
  io.beat.valid         := current.valid
  io.beat.slot          := current.slot.slot
  io.beat.beat          := beat
  io.beat.lastOfSlot    := last
  io.beat.lastOfRequest := last && current.slot.lastOfRequest
  io.beat.error         := current.error
  for (lane <- 0 until HardBlock.Dwords)
    io.beat.show(lane) := (!last || current.slot.lastDword(2 downto 0) >= lane) &&
      current.error === ReadError.none
  current.ready := io.beat.ready && last
  when(io.beat.fire) { beat := last ? U(0) | beat + 1 }

  io.idle := RegNext(closed.io.occupancy === 0 && !next.valid && !current.valid) init False
}

/** A beat to be read and delivered. */
case class SlotBeat(p: ReturnParam) extends Bundle {
  val slot                      = UInt(p.slotWidth bits)
  val beat                      = UInt(4 bits)
  val lastOfSlot, lastOfRequest = Bool()
  val error                     = ReadError()
  val show                      = Bits(HardBlock.Dwords bits) // Lanes that hold data.
}
