// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rc

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.ReadError

/** Says which reads of the card have ended, and with what error. The error of a read is the first
  * one found in its completions.
  *
  * An error may be found in a completion while more of its read is still to come. Such an error is
  * kept in a table, by tag, until the read ends.
  */
case class ReadEnds(p: ReturnParam) extends Component {
  import ReadEnds._
  val io = new Bundle {
    val clear    = slave(Flow(TagPool.FreeTag(p)))
    val end      = slave(Flow(CompletionLander.End(p)))
    val free     = master(Flow(TagPool.FreeTag(p)))
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

  val free = Flow(TagPool.FreeTag(p))
  free.valid      := io.end.valid && end.free
  free.tag        := end.tag
  free.generation := end.generation
  io.free << free.m2sPipe()
  io.suspect := RegNext(end.suspect)

  val finished = Flow(FinishedRead(p))
  finished.valid  := io.end.valid && end.finish
  finished.client := end.client
  finished.order  := end.order
  finished.error  := error
  io.finished << finished.m2sPipe()
}

object ReadEnds {

  /** Reports to the client's LandingReader that the client's read with number `order` has ended. */
  case class FinishedRead(p: ReturnParam) extends Bundle {
    val client = UInt(p.clientWidth bits)
    val order  = UInt(p.orderWidth + 1 bits)
    val error  = ReadError()
  }
}
