// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.writer

import spinal.core._
import spinal.lib._

import lanebox.capture.record.RecordBuilder
import lanebox.capture.staging.Staging
import lanebox.capture.vocabulary.CaptureParam
import lanebox.vocabulary.Request

/** The components Staging and HostWriter, connected as in Capture. The test bench makes the pcapng
  * blocks itself.
  */
case class WriterDut(p: CaptureParam) extends Component {
  val io = new Bundle {
    val beats         = slave(Flow(RecordBuilder.BlockBeat()))
    val freed         = out Bool ()
    val patience      = in UInt (24 bits)
    val relaxed       = in Bool ()
    val statusAddress = in UInt (64 bits)
    val segmentLog2   = in UInt (5 bits)
    val lastSegment   = in UInt (p.segmentWidth bits)
    val segment       = slave(Flow(RingSegments.Segment(p)))
    val clear         = in Bool ()
    val wake          = slave(Flow(UInt(64 bits)))
    val call          = out Bool ()
    val request       = master(Stream(Fragment(Request())))
    val position      = out UInt (64 bits)
    val idle          = out Bool ()
  }
  val staging = Staging(p)
  val writer  = HostWriter(p)
  staging.io.beats << io.beats
  io.freed         := staging.io.freed.valid
  staging.io.look  := writer.io.queue
  writer.io.select := U(0, 0 bits)
  writer.io.stirs  := io.beats.valid

  writer.io.patience      := io.patience
  writer.io.relaxed       := io.relaxed
  writer.io.statusAddress := io.statusAddress
  writer.io.segmentLog2   := io.segmentLog2
  writer.io.lastSegment   := io.lastSegment
  writer.io.segment << io.segment
  writer.io.wake << io.wake
  io.call         := writer.io.call
  writer.io.clear := io.clear
  writer.io.now   := 0
  writer.io.lost  := 0
  writer.io.open  := staging.io.open
  writer.io.full << staging.io.full
  writer.io.data := staging.io.data
  staging.io.read << writer.io.read
  staging.io.release << writer.io.release
  io.request << writer.io.request
  io.position := writer.io.position
  io.idle     := writer.io.idle
}
