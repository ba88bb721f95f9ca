// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture

import spinal.core._
import spinal.lib._

import lanebox.capture.accounts.Accounts
import lanebox.capture.record.{FrameTrim, MbufPlacer, QueueCells, RecordBuilder, RecordSizer}
import lanebox.capture.staging.Staging
import lanebox.capture.vocabulary.CaptureParam
import lanebox.capture.writer.{HostWriter, RingLimit}
import lanebox.vocabulary.Frames

/** Writes frames to a ring in host memory, which then holds pcapng blocks and nothing else.
  *
  * {{{
  *   frames --> FrameTrim -- heads --> RecordSizer -- sized --> MbufPlacer -- fates --> Accounts
  *                  |                                            ^   ^   |
  *                  |                        RingLimit ----------+   |   | blocks
  *                  |                                          freed |   v
  *                  +--- data ---------------------------------------|-> RecordBuilder
  *                                                                   |    | beats
  *   request <--- HostWriter <--- open, full, data --- Staging ------+    |
  *                    |                                ^   ^              |
  *                    +--- read, release --------------+   +--------------+
  * }}}
  *
  * All stages are there once, for all queues. The state that a stage keeps of a queue is small, and
  * is in a QueueState. A frame is delivered whole or lost whole, and each frame is counted once, by
  * its fate. Room in the ring and in the staging memory is reserved before a record is begun, so of
  * all stages behind MbufPlacer only HostWriter ever waits for the host.
  *
  * `clear` sets the block back to position 0 of the ring, and is allowed only while `idle`. After
  * `run` has fallen, the last MBUF (a part of the ring) is filled up and ends with a seal, its last
  * block. Then its status line is written, `idle` rises, and nothing more is written.
  */
case class Capture(p: CaptureParam) extends CaptureBlock(p) {
  // Only a capture with several queues has these ports.
  val several = p.several generate Capture.QueuePorts(p)

  val trim     = FrameTrim(p.queueWidth)
  val sizer    = RecordSizer(p.queueWidth)
  val placer   = MbufPlacer(p)
  val limit    = RingLimit(p.queueWidth)
  val builder  = RecordBuilder(p.queueWidth)
  val staging  = Staging(p)
  val writer   = HostWriter(p)
  val accounts = Accounts(p.queueWidth)

  // `select` is the queue that software has selected. `rings` has the settings that each queue has
  // for itself.
  val select = if (p.several) several.select else U(0, 0 bits)
  val rings  = p.several generate QueueRings(p)
  if (p.several) {
    rings.io.select        := select
    rings.io.statusWritten := several.statusWritten
    rings.io.lastWritten   := several.lastWritten
    rings.io.statusAddress := io.settings.statusAddress
    rings.io.lastSegment   := io.settings.lastSegment
    rings.io.placing       := placer.io.queue
    rings.io.writing       := writer.io.queue
    placer.io.quota << several.quota
  }

  trim.io.run      := io.settings.run
  trim.io.keepBad  := io.settings.keepBad
  trim.io.snap     := io.settings.snap
  trim.io.mbufLog2 := io.settings.mbufLog2
  trim.io.frames << io.frames
  trim.io.queue := (if (p.several) several.queue else U(0, 0 bits))
  sizer.io.frame << trim.io.heads

  limit.io.mbufLog2 := io.settings.mbufLog2
  limit.io.newest   := io.settings.newest && (if (p.several) rings.io.placed else True)
  limit.io.select   := select
  limit.io.queue    := placer.io.queue
  limit.io.limit << io.limit
  limit.io.clear   := io.clear
  limit.io.advance := placer.io.advance

  // `stopped` may be a cycle late: without `run` no frame enters, so the stages stay empty.
  val empty   = !trim.io.busy && !sizer.io.busy
  val stopped = RegNext(!io.settings.run && empty) init False
  placer.io.mbufLog2     := io.settings.mbufLog2
  placer.io.lossless     := io.settings.lossless
  placer.io.seal.valid   := io.seal
  placer.io.seal.payload := select
  placer.io.stopped      := stopped
  placer.io.clear        := io.clear
  placer.io.now          := io.now
  placer.io.known        := limit.io.known
  placer.io.allowed      := limit.io.allowed
  placer.io.lostOf       := writer.io.queue
  placer.io.freed << staging.io.freed
  placer.io.frames << sizer.io.sized

  builder.io.blocks << placer.io.blocks.halfPipe()
  builder.io.data << trim.io.data
  staging.io.beats << builder.io.beats

  writer.io.patience    := io.settings.patience
  writer.io.relaxed     := io.settings.relaxed
  writer.io.select      := select
  writer.io.stirs       := staging.io.beats.valid
  writer.io.segmentLog2 := io.settings.segmentLog2
  writer.io.statusAddress :=
    (if (p.several) rings.io.ownStatus else io.settings.statusAddress)
  writer.io.lastSegment := (if (p.several) rings.io.ownLast else io.settings.lastSegment)
  writer.io.segment << io.segment
  writer.io.wake << io.wake
  io.call         := writer.io.call
  io.calls        := writer.io.calls
  writer.io.clear := io.clear
  writer.io.now   := io.now
  writer.io.lost  := placer.io.lost
  staging.io.look := writer.io.queue
  writer.io.open  := staging.io.open
  writer.io.full << staging.io.full
  writer.io.data := staging.io.data
  staging.io.read << writer.io.read
  staging.io.release << writer.io.release
  io.request << writer.io.request
  io.position := writer.io.position

  accounts.io.fates << placer.io.fates.halfPipe()
  accounts.io.clear    := io.clear
  accounts.io.snapshot := io.snapshot
  accounts.io.queue    := select
  accounts.io.index    := io.index
  io.accountsBusy      := accounts.io.busy
  io.account           := accounts.io.account

  /** `idle` rises only after all stages have been quiet for 7 cycles. Until then the last beats of
    * a seal (the last block of an MBUF) may be in a register between two stages.
    */
  val drained = new Area {
    val quiet = stopped && placer.io.closed && !builder.io.blocks.valid && builder.io.idle
    val since = Reg(UInt(3 bits)) init 0
    since := (quiet && writer.io.idle) ? (since + (!since.andR).asUInt) | U(0)
    val done = RegNext(since.andR) init False
    io.idle := done
  }
}

object Capture {

  /** The ports that a capture with several queues has beside those of one queue. */
  case class QueuePorts(p: CaptureParam) extends Bundle {
    val queue  = in UInt (p.queueWidth bits) // Queue of the frame whose beat is offered.
    val select = in UInt (p.queueWidth bits)
    val statusWritten = in Bool () // The address of the selected queue's status line was written.
    val lastWritten   = in Bool () // The number of the selected queue's last segment was written.
    val quota         = slave(Flow(QueueCells.Quota(p)))
  }

  /** The capture's settings. All but `run` must stay the same while frames are taken. */
  case class Settings(p: CaptureParam) extends Bundle {
    val run     = Bool()
    val keepBad = Bool()
    // Frames wait for room in ring and staging memory; none is lost.
    val lossless = Bool()
    // The card overwrites old data in the ring and ignores the limit.
    val newest  = Bool()
    val relaxed = Bool()
    val snap    = UInt(Frames.LengthWidth bits) // Bytes to record of a frame; 0: all.
    // Cycles for which complete records may wait for more records before they go to the host.
    val patience = UInt(24 bits)
    // Log2 of the bytes of an MBUF: 12 to 22, for 4 KiB to 4 MiB.
    val mbufLog2 = UInt(5 bits)
    // Log2 of a segment (contiguous part of the ring): 12 to 30, and at least mbufLog2.
    val segmentLog2   = UInt(5 bits)
    val lastSegment   = UInt(p.segmentWidth bits)
    val statusAddress = UInt(64 bits) // Host address of the status line: a multiple of 32.
  }
}
