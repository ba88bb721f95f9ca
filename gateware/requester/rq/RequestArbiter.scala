// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rq

import spinal.core._
import spinal.lib._

/** A round robin arbiter of requests to RQ. While an input waits, each other input has at most one
  * turn, however `ready` comes and goes.
  *
  * The last input is an exception: with `again` it may have several turns running. The output may
  * change while it is offered and not taken, so a register must follow.
  */
case class RequestArbiter[T <: Data](payload: HardType[T], ways: Int) extends Component {
  require(ways >= 1, s"an arbiter of $ways inputs: it needs one")
  val io = new Bundle {
    val inputs = Vec(slave(Stream(payload())), ways)
    val output = master(Stream(payload()))
    val grant  = out Bits (ways bits) // One-hot: the input whose turn it is, if `output` is valid.
    // If the last input has this turn, it may also have the next one.
    val again = in Bool ()
  }
  // StreamArbiter is not used: its turn ends when the input is offered. Here a turn ends when the
  // input's payload was taken.
  val offered = B(io.inputs.map(_.valid))
  // Bit i is set if input i comes after the input that had the last turn.
  val behind = Reg(Bits(ways bits)) init 0

  val preferred = offered & behind
  val grant     = preferred.orR ? OHMasking.first(preferred) | OHMasking.first(offered)
  val above     = ~(grant.asUInt | (grant.asUInt - 1)).asBits
  val itself    = grant.msb && io.again
  when(io.output.fire)(behind := above | (itself.asBits.resize(ways) |<< (ways - 1)))

  io.grant := grant
  // No stream operator fits: the output offers the input that has the turn in this cycle, even if
  // that is another one than in the cycle before.
  io.output.valid := offered.orR
  val turns  = grant.asBools
  val chosen = MuxOH(turns, io.inputs.map(_.payload))
  io.output.payload := chosen
  // StreamMux is not used: it takes the number of an input, but the grant is one-hot.
  for ((input, turn) <- io.inputs.zip(turns)) input.ready := turn && io.output.ready
}
