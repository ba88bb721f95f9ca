// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.writer

import spinal.core._
import spinal.lib._

import lanebox.capture.vocabulary.{CaptureParam, QueueState}

/** Says whether a queue's ring has room for the next MBUF (part of the ring).
  *
  * An MBUF is begun only if all of it is below `limit`, so a seal never waits for the host. `limit`
  * counts bytes since the start and only grows: a smaller value is ignored. With `newest` the limit
  * is ignored.
  *
  * `clear` sets all positions back to the first MBUF, and the limits to 0. With several queues, the
  * outputs are about the queue that `queue` named in the cycle before.
  */
case class RingLimit(queueWidth: Int = 0) extends Component {
  val io = new Bundle {
    val mbufLog2 = in UInt (5 bits)
    val newest   = in Bool ()
    val select   = in UInt (queueWidth bits) // The queue that gets `limit`.
    val limit    = slave(Flow(UInt(64 bits)))
    val clear    = in Bool ()
    val queue    = in UInt (queueWidth bits)
    val advance  = in Bool ()                // A pulse: the present MBUF of `queue` is complete.
    val known   = out Bool () // `allowed` is up to date; low shortly after `advance`.
    val allowed = out Bool ()
  }
  val Width = 64 - log2Up(CaptureParam.CellBytes)

  val cells = RegNext(
    U(1, CaptureParam.MostMbuf - log2Up(CaptureParam.CellBytes) + 1 bits) |<<
      (io.mbufLog2 - CaptureParam.LeastMbuf)
  )

  val cleared = QueueState.Walk(queueWidth, io.clear)

  val latest = RegNextWhen(io.limit.payload >> (64 - Width), io.limit.valid) init 0
  val chosen = RegNext(io.select)
  val came   = RegNext(io.limit.valid) init False
  val grows  = Bool()
  val limits =
    QueueState(UInt(Width bits), chosen, grows, cleared, late = true)(_ => U(0, Width bits))
  grows       := came && latest > limits.now
  limits.next := latest

  // End of the next MBUF, in cells of 4 KiB since the start.
  val ends = QueueState(UInt(Width bits), io.queue, io.advance, cleared)(_ => cells.resize(Width))
  val nextEnd = ends.now
  ends.next := nextEnd + cells

  // `nextEnd` is right a cycle after `advance`, `allowed` two cycles. Until then `known` is low.
  val changed = RegNext(io.clear || io.advance) init False
  val settles = RegNext(changed) init False
  val allowed = RegNext(io.newest || nextEnd <= limits.of(io.queue)) init False
  io.known   := !changed && !settles
  io.allowed := allowed
}
