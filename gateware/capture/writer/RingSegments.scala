// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.writer

import spinal.core._
import spinal.lib._

import lanebox.capture.vocabulary.{CaptureParam, QueueState}

/** Computes the address in host memory to which the next cell is written.
  *
  * A ring is a list of segments of one size. The host writes the list once. `advance` moves on to
  * the next cell (4 KiB) of the ring, and `clear` back to the first cell of the first segment.
  * `valid` rises four cycles later.
  *
  * Each queue has an equal part of the table of segments. `queue` names the queue that the other
  * ports are about. When it changes, `changes` must be high in the cycle before.
  */
case class RingSegments(p: CaptureParam) extends Component {
  val io = new Bundle {
    val select  = in UInt (p.queueWidth bits) // The queue that gets `segment`.
    val segment = slave(Flow(RingSegments.Segment(p)))
    val segmentLog2 = in UInt (5 bits) // Log2 of a segment's bytes: 12 to 30, for 4 KiB to 1 GiB.
    val lastSegment = in UInt (p.segmentWidth bits)
    val clear       = in Bool ()
    val queue       = in UInt (p.queueWidth bits)
    val changes     = in Bool ()
    val advance     = in Bool ()
    val valid       = out Bool ()
    val page        = out UInt (64 - log2Up(CaptureParam.CellBytes) bits)
  }
  val OffsetWidth = 18
  val pages       = Mem(UInt(io.page.getWidth bits), p.segments)
  pages.addAttribute("ram_style", "block")
  val indexWidth = p.segmentWidth - p.queueWidth
  pages.write(
    address = io.select @@ io.segment.index.resize(indexWidth),
    data = io.segment.page,
    enable = io.segment.valid
  )

  val lastOffset =
    RegNext((U(1, OffsetWidth + 1 bits) |<< (io.segmentLog2 - CaptureParam.LeastMbuf)) - 1)
  case class Place() extends Bundle {
    val index  = UInt(indexWidth bits)
    val offset = UInt(OffsetWidth bits)
  }
  val cleared = QueueState.Walk(p.queueWidth, io.clear)
  val places =
    QueueState(Place(), io.queue, io.advance, cleared, late = true)(QueueState.zero(Place()))
  val index  = places.now.index
  val offset = places.now.offset
  places.next.offset := offset + 1
  when(offset === lastOffset.resized) {
    places.next.offset := 0
    places.next.index  := (index === io.lastSegment.resized) ? U(0) | index + 1
  }
  // Host address of the present segment, in pages of 4 KiB.
  val first = RegNext(pages.readSync(io.queue @@ index))
  val page  = RegNext(first + offset)
  io.page := page

  val since = Reg(UInt(2 bits)) init 0
  when(!since.andR) { since := since + 1 }
  val breaks = io.advance || io.clear || io.changes
  when(breaks) { since := 0 }
  val valid = RegNext(since.andR && !breaks) init False
  io.valid := valid
}

object RingSegments {

  /** An entry of the table of segments: the address of a segment of the ring, in pages of 4 KiB. */
  case class Segment(p: CaptureParam) extends Bundle {
    val index = UInt(p.segmentWidth bits)
    val page  = UInt(64 - log2Up(CaptureParam.CellBytes) bits)
  }
}
