// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture

import spinal.core._
import spinal.lib._

import lanebox.capture.generator.Generator
import lanebox.capture.vocabulary.CaptureParam
import lanebox.requester.rq.{ClientConfig, RequestParam, RequestPath}
import lanebox.vocabulary.HardBlock

/** Generator, capture block and the endpoint's request path, connected as on the card, so that a
  * test can measure the rate of TLPs on RQ.
  */
case class RateDut(p: CaptureParam) extends Component {
  val clients = Seq(
    ClientConfig("capture", reads = false, writes = true),
    ClientConfig("other", reads = true, writes = false)
  )
  val io = new Bundle {
    val settings   = in(Capture.Settings(p))
    val clear      = in Bool ()
    val size       = in UInt (14 bits)
    val maxPayload = in UInt (3 bits)
    val rq         = master(HardBlock.Rq())
    val sequence   = in(HardBlock.SequencePins())
    val position   = out UInt (64 bits)
  }
  val generator = Generator()
  for (kind <- Seq(generator.io.small, generator.io.middle, generator.io.large)) {
    kind.size   := io.size
    kind.period := 0
  }
  generator.io.run      := io.settings.run
  generator.io.mix      := False
  generator.io.count    := 0
  generator.io.seed     := 1
  generator.io.portMask := 0
  generator.io.now      := 0

  val capture = Capture(p)
  capture.io.settings := io.settings
  capture.io.clear    := io.clear
  capture.io.seal     := False
  capture.io.limit.setIdle()
  capture.io.segment.setIdle()
  capture.io.wake.setIdle()
  capture.io.now      := 0
  capture.io.snapshot := False
  capture.io.index    := 0
  capture.io.frames << generator.io.frames
  io.position := capture.io.position

  val path = RequestPath(RequestParam(clients))
  path.io.settings.maxPayload     := io.maxPayload
  path.io.settings.maxReadRequest := 0
  path.io.settings.rcb128         := False
  path.io.settings.extendedTags   := False
  path.io.settings.busMaster      := True
  path.io.stop                    := False
  path.io.claim.ready             := False
  path.io.tag                     := 0
  path.io.room.foreach(_ := True)
  path.io.sequence := io.sequence
  path.io.clients(0) << capture.io.request
  path.io.clients(1).setIdle()
  io.rq << path.io.rq
}
