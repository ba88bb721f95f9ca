// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.writer

import spinal.core._
import spinal.lib._

import lanebox.capture.CaptureParam

/** Says whether the ring has room for the next MBUF.
  *
  * An MBUF is begun only if all of it is below `limit`, so a seal never waits for the host. `limit`
  * counts bytes since the start and only grows: a smaller value is ignored. With `newest` the limit
  * is ignored.
  *
  * `clear` sets the position back to the first MBUF, and the limit to 0.
  */
case class RingLimit() extends Component {
  val io = new Bundle {
    val mbufLog2 = in UInt (5 bits)
    val newest   = in Bool ()
    val limit    = slave(Flow(UInt(64 bits)))
    val clear    = in Bool ()
    val advance  = in Bool ()  // A pulse: the present MBUF is complete.
    val known    = out Bool () // `allowed` is up to date; low shortly after `advance`.
    val allowed  = out Bool ()
  }
  val Width = 64 - log2Up(CaptureParam.CellBytes)

  val cells = RegNext(
    U(1, CaptureParam.MostMbuf - log2Up(CaptureParam.CellBytes) + 1 bits) |<<
      (io.mbufLog2 - CaptureParam.LeastMbuf)
  )

  val limit  = Reg(UInt(Width bits)) init 0
  val latest = RegNextWhen(io.limit.payload >> (64 - Width), io.limit.valid) init 0
  val grows  = RegNext(latest > limit) init False
  when(grows) { limit := latest }
  when(io.clear) {
    latest := 0
    grows  := False
    limit  := 0
  }

  // End of the next MBUF, in cells of 4 KiB since the start.
  val nextEnd = Reg(UInt(Width bits)) init 0
  when(io.advance) { nextEnd := nextEnd + cells }
  when(io.clear) { nextEnd := cells.resized }

  // `nextEnd` is right a cycle after `advance`, `allowed` two cycles. Until then `known` is low.
  val changed = RegNext(io.clear || io.advance) init False
  val settles = RegNext(changed) init False
  val allowed = RegNext(io.newest || nextEnd <= limit) init False
  io.known   := !changed && !settles
  io.allowed := allowed
}
