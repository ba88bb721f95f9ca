// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.writer

import spinal.core._
import spinal.lib._

import lanebox.capture.staging.Staging
import lanebox.capture.vocabulary.CaptureParam
import lanebox.vocabulary.{HardBlock, Request}

/** Writes the staging memory's cells to the queues' rings in host memory, and each status line
  * behind the data that it reports.
  *
  * {{{
  *   open, full --> TransferChooser -- transfer --> CellReader -- goes --> RequestFormer -> request
  *                    ^    |  \                       |    |                ^   ^
  *               page |    |   +--- line -------------|----|----------------+   |
  *                    |    v advance            read  v    +--- rows -----------+
  *                  RingSegments                  Staging
  * }}}
  *
  * A write of a cell's data is one request of at most 4 KiB to a master port of the endpoint. The
  * endpoint cuts the request into TLPs.
  */
case class HostWriter(p: CaptureParam) extends Component {
  val io = new Bundle {
    val patience = in UInt (24 bits)
    val relaxed  = in Bool ()
    // The queue that TransferChooser considers. `statusAddress`, `lastSegment`, `lost` and `open`
    // belong to this queue.
    val queue         = out UInt (p.queueWidth bits)
    val statusAddress = in UInt (64 bits)
    val segmentLog2   = in UInt (5 bits)
    val lastSegment   = in UInt (p.segmentWidth bits)
    // The queue that `segment`, `wake` and `position` are about.
    val select   = in UInt (p.queueWidth bits)
    val segment  = slave(Flow(RingSegments.Segment(p)))
    val clear    = in Bool ()
    val wake     = slave(Flow(UInt(64 bits)))
    val call     = out Bool ()
    val now      = in UInt (64 bits)
    val lost     = in UInt (64 bits)
    val open     = in(Staging.OpenCell(p))
    val full     = slave(Stream(Staging.FullCell(p)))
    val stirs    = in Bool ()  // Data enters the staging memory.
    val release  = master(Flow(Staging.UsedCell(p)))
    val read     = master(Flow(UInt(p.rowWidth bits)))
    val data     = in Bits (HardBlock.DataWidth bits)
    val request  = master(Stream(Fragment(Request())))
    val position = out UInt (64 bits)
    val calls    = out Bool () // A written `wake` is being compared.
    val idle     = out Bool ()
  }
  val chooser  = TransferChooser(p)
  val segments = RingSegments(p)
  val reader   = CellReader(p)
  val former   = RequestFormer(p)
  val wake     = RingWake(p)

  segments.io.select := io.select
  segments.io.segment << io.segment
  segments.io.segmentLog2 := io.segmentLog2
  segments.io.lastSegment := io.lastSegment
  segments.io.clear       := io.clear
  segments.io.queue       := chooser.io.queue
  segments.io.changes     := chooser.io.changes
  segments.io.advance     := chooser.io.advance

  io.queue                 := chooser.io.queue
  chooser.io.select        := io.select
  chooser.io.stirs         := io.stirs
  chooser.io.patience      := io.patience
  chooser.io.statusAddress := io.statusAddress
  chooser.io.now           := io.now
  chooser.io.lost          := io.lost
  chooser.io.clear         := io.clear
  chooser.io.open          := io.open
  chooser.io.full << io.full
  chooser.io.pageValid := segments.io.valid
  chooser.io.page      := segments.io.page
  chooser.io.lineSent  := former.io.lineSent

  // Two stages register `valid` and `ready` of a transfer, since the paths between TransferChooser
  // and CellReader are long.
  val chosen   = chooser.io.transfer.s2mPipe()
  val transfer = chosen.m2sPipe()
  chooser.io.busy := transfer.valid || !chooser.io.transfer.ready
  reader.io.transfer << transfer
  reader.io.data := io.data
  io.read << reader.io.read
  io.release << reader.io.release

  former.io.relaxed := io.relaxed
  former.io.transfer << reader.io.goes
  former.io.rows << reader.io.rows
  former.io.line := chooser.io.line
  io.request << former.io.request

  wake.io.select := io.select
  wake.io.wake << io.wake
  wake.io.clear            := io.clear
  wake.io.lineOf           := chooser.io.lineOf
  wake.io.lineSent.valid   := former.io.lineSent
  wake.io.lineSent.payload := chooser.io.line(63 downto 0).asUInt
  wake.io.lineWaits        := former.io.lineWaits
  io.call                  := wake.io.call
  io.calls                 := wake.io.busy

  io.position := chooser.io.position
  val rests = chooser.io.idle && !chosen.valid && !transfer.valid && former.io.idle
  val idle  = RegNext(rests) init False
  io.idle := idle
}
