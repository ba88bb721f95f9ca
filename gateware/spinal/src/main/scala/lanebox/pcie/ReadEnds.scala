// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** How many of a slot's reads are finished, and whether one of them failed. */
case class SlotStatus() extends Bundle {
  val count = UInt(4 bits) // Of reads ever: no reset between the slot's users.
  val error = ReadError()
}

/** A read that is over. */
case class FinishedRead(p: ReturnParam) extends Bundle {
  val slot  = UInt(p.slotWidth bits)
  val error = ReadError()
}

/** Counts the end of reads for their slots: a read's first error is its error, and the slot's.
  *
  * A completion may be found short at its last beat, when others of its read are still to come:
  * such an error waits in a table of its own, by tag.
  */
case class ReadEnds(p: ReturnParam) extends Component {
  val io = new Bundle {
    val clear    = slave(Flow(FreeTag(p)))
    val end      = slave(Flow(CompletionEnd(p)))
    val free     = master(Flow(FreeTag(p)))
    val suspect  = out Bool () // With free: its read timed out.
    val finished = master(Flow(FinishedRead(p)))

    // The status of slots that have no read outstanding, and of those that wait for delivery.
    val slots    = in Vec (UInt(p.slotWidth bits), 1 + p.clients)
    val statuses = out Vec (SlotStatus(), 1 + p.clients)
  }

  /** The error so far of the read that has the tag. */
  case class Failure() extends Bundle {
    val generation = Bool()
    val error      = ReadError()
  }

  val reads = new Area {
    val failures = Mem(Failure(), p.tags)
    val end      = io.end.payload
    val before   = failures.readAsync(end.tag)
    val error = (before.generation === end.generation && before.error =/= ReadError.none) ?
      before.error | end.error
    val failure = Failure()
    failure.generation := end.generation
    failure.error      := error
    when(io.clear.valid) {
      failure.generation := io.clear.generation
      failure.error      := ReadError.none
    }
    failures.write(
      address = io.clear.valid ? io.clear.tag | end.tag,
      data = failure,
      enable = io.clear.valid || io.end.valid && end.waited
    )
  }

  io.free.valid      := RegNext(io.end.valid && io.end.free) init False
  io.free.tag        := RegNext(io.end.tag)
  io.free.generation := RegNext(io.end.generation)
  io.suspect         := RegNext(io.end.suspect)

  val slots = new Area {
    val end      = RegNext(io.end.payload)
    val finish   = RegNext(io.end.valid && io.end.finish) init False
    val error    = RegNext(reads.error)
    val statuses = Mem(SlotStatus(), p.slots)
    val before   = statuses.readAsync(end.slot)
    val status   = SlotStatus()
    val failed   = before.count =/= end.base && before.error =/= ReadError.none
    status.count := before.count + 1
    status.error := failed ? before.error | error
    statuses.write(end.slot, status, finish)
  }
  for ((slot, status) <- io.slots.zip(io.statuses)) status := slots.statuses.readAsync(slot)

  io.finished.valid := slots.finish
  io.finished.slot  := slots.end.slot
  io.finished.error := slots.error
}
