// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.writer

import spinal.core._
import spinal.lib._

import lanebox.capture.vocabulary.{CaptureParam, QueueState}

/** Says whether a queue's complete records have waited for `patience` cycles. TransferAge stores
  * for each queue when its records were first seen, so a queue needs no counter of its own.
  *
  * `waits`: `queue` has complete records that were not sent. In the cycle in which `queue` changes,
  * `waits` may still be about the queue before. `sends`: the queue's records are sent.
  */
case class TransferAge(p: CaptureParam, queue: UInt, waits: Bool, sends: Bool, patience: UInt)
    extends Area {
  // Each queue has its turn again long before the clock wraps.
  val ClockWidth = 26
  case class Seen() extends Bundle {
    val waits = Bool()
    val since = UInt(ClockWidth bits)
  }
  val clock = Reg(UInt(ClockWidth bits)) init 0
  clock := clock + 1

  val before = RegNext(queue) init 0
  val never  = QueueState.Walk(p.queueWidth, False)
  val state  = QueueState(Seen(), queue, queue === before, never)(QueueState.zero(Seen()))
  state.next.waits := waits && !sends
  when(!state.now.waits) { state.next.since := clock }
  val age = clock - state.now.since
  val due = state.now.waits && age >= patience || patience === 0
}
