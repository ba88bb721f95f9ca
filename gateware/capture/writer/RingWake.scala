// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.writer

import spinal.core._
import spinal.lib._

/** Calls the host once when a status line has told of a position beyond `wake`.
  *
  * `lineSent` has the position of a status line in the cycle in which the line enters the request
  * register, and `lineWaits` is high while the line is in that register. The call comes after the
  * line has left: the endpoint sends the interrupt message behind all that it took before.
  *
  * Writing `wake` arms one call. If the last line is beyond `wake` already, the call comes at once.
  * So a program arms, looks at the status line once more, and then sleeps. `clear` disarms.
  */
case class RingWake() extends Component {
  val io = new Bundle {
    val wake      = slave(Flow(UInt(64 bits)))
    val lineSent  = slave(Flow(UInt(64 bits)))
    val lineWaits = in Bool ()
    val clear     = in Bool ()
    val call      = out Bool () // A pulse: interrupt the host.
    val busy      = out Bool () // `wake` was written, and is being compared.
  }
  val wake  = RegNextWhen(io.wake.payload, io.wake.valid) init 0
  val told  = RegNextWhen(io.lineSent.payload, io.lineSent.valid) init 0
  val armed = RegInit(False)

  // `passed` is a cycle late, so a result for an older `wake` is not taken.
  val passed = RegNext(armed && told > wake && !io.lineWaits && !io.wake.valid) init False
  val call   = passed && armed
  io.call := call
  when(call) { armed := False }
  when(io.wake.valid) { armed := True }
  when(io.clear) {
    told   := 0
    armed  := False
    passed := False
  }

  val fresh = RegNext(io.wake.valid) init False
  io.busy := fresh || passed
}
