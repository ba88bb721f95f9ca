// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rc

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.ReadError

/** Says to a client's RingReader that the read with number `order` has ended, and with what error.
  */
case class FinishedRead(p: ReturnParam) extends Bundle {
  val client = UInt(p.clientWidth bits)
  val order  = UInt(p.orderWidth + 1 bits)
  val error  = ReadError()
}

/** Says which reads of the card have ended, and with what error. The error of a read is the first
  * one found in its completions.
  *
  * An error may be found in a completion while more of its read is still to come. Such an error is
  * kept in a table, by tag, until the read ends.
  */
case class ReadEnds(p: ReturnParam) extends Component {
  val io = new Bundle {
    val clear    = slave(Flow(FreeTag(p)))
    val end      = slave(Flow(CompletionEnd(p)))
    val free     = master(Flow(FreeTag(p)))
    val suspect  = out Bool () // Valid with `free`: the last read with the freed tag timed out.
    val finished = master(Flow(FinishedRead(p)))
  }

  /** The first error found so far in the completions of the read that has the tag. */
  case class Failure() extends Bundle {
    val generation = Bool()
    val error      = ReadError()
  }

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

  io.free.valid      := RegNext(io.end.valid && io.end.free) init False
  io.free.tag        := RegNext(io.end.tag)
  io.free.generation := RegNext(io.end.generation)
  io.suspect         := RegNext(io.end.suspect)

  io.finished.valid  := RegNext(io.end.valid && io.end.finish) init False
  io.finished.client := RegNext(end.client)
  io.finished.order  := RegNext(end.order)
  io.finished.error  := RegNext(error)
}
