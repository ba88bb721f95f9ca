// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.writer

import spinal.core._
import spinal.lib._

import lanebox.capture.vocabulary.{CaptureParam, QueueFlags, QueueState}

/** Interrupts the host once when a status line has reported a position beyond `wake`.
  *
  * `lineSent` has the position of a status line in the cycle in which the line enters the request
  * register, and `lineWaits` is high while the line is in that register. The call comes after the
  * line has left: the endpoint sends the interrupt message behind all that it took before.
  *
  * Writing `wake` arms one interrupt. If the last line is beyond `wake` already, it comes at once.
  * So a program writes `wake`, reads the status line once more, and may then sleep. `clear`
  * disarms.
  *
  * Each queue has a `wake` of its own. Several queues are compared in turn, one in each cycle.
  */
case class RingWake(p: CaptureParam = CaptureParam()) extends Component {
  val io = new Bundle {
    val select    = in UInt (p.queueWidth bits) // The queue that gets `wake`.
    val wake      = slave(Flow(UInt(64 bits)))
    val lineOf    = in UInt (p.queueWidth bits) // The queue whose status line is sent.
    val lineSent  = slave(Flow(UInt(64 bits)))
    val lineWaits = in Bool ()
    val clear     = in Bool ()
    val call      = out Bool ()                 // A pulse: interrupt the host.
    val busy      = out Bool ()                 // `wake` was written, and is being compared.
  }
  val turn = p.several generate (Reg(UInt(p.queueWidth bits)) init 0)
  if (p.several) turn := turn + 1
  val queue = if (p.several) turn else U(0, 0 bits)
  val last  = if (p.several) RegNext(turn) init 0 else queue

  // The memories are not cleared: `armed` and `told` say which entries have been written.
  val none = QueueState.Walk.none(p.queueWidth)
  val wakes =
    QueueState(UInt(64 bits), io.select, io.wake.valid, none)(QueueState.zero(UInt(64 bits)))
  val tolds =
    QueueState(UInt(64 bits), io.lineOf, io.lineSent.valid, none)(QueueState.zero(UInt(64 bits)))
  wakes.next := io.wake.payload
  tolds.next := io.lineSent.payload
  val armed = QueueFlags(p)
  val told  = QueueFlags(p)
  when(io.lineSent.valid) { told.set(io.lineOf) }

  // `passed` is a cycle late, so a result for an older `wake` is not taken.
  val beyond = told.of(queue) && tolds.of(queue) > wakes.of(queue)
  val passed = RegNext(armed.of(queue) && beyond && !io.lineWaits && !io.wake.valid) init False
  val call   = passed && armed.of(last)
  io.call := call
  when(call) { armed.clear(last) }
  when(io.wake.valid) { armed.set(io.select) }
  when(io.clear) {
    armed.clearAll()
    told.clearAll()
    passed := False
  }

  // Cycles until a written `wake` has been compared.
  val left = p.several generate (Reg(UInt(p.queueWidth + 1 bits)) init 0)
  if (p.several) {
    when(left =/= 0) { left := left - 1 }
    when(io.wake.valid) { left := p.queues }
  }
  val fresh = if (p.several) left =/= 0 else RegNext(io.wake.valid) init False
  io.busy := fresh || passed
}
