// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture

import spinal.core._
import spinal.lib._

import lanebox.capture.accounts.{AccountTable, Accounts}
import lanebox.capture.generator.Generator
import lanebox.capture.player.{FrameSources, NetFrames, Player, SlotFrames}
import lanebox.capture.vocabulary.CaptureParam
import lanebox.capture.writer.RingSegments
import lanebox.vocabulary.{Frames, Request}

/** Connects the sources of frames, the generator and the player, with Capture, which records them.
  * With `fromSlot` the logic in the user slot is a source, too, whose frames come from the last
  * port. With `fromNet` copies of the net device's frames are recorded while `net.on` is high.
  *
  * `busy` is high while frames are made, recorded or written to host memory, while accounts are
  * copied or cleared, and while a written `wake` is compared with the position.
  */
case class CaptureUnit(p: CaptureParam, fromSlot: Boolean = false, fromNet: Boolean = false)
    extends Component {
  setDefinitionName("CaptureUnit")
  val io = new Bundle {
    val settings  = in(Capture.Settings(p))
    val generator = in(GeneratorSettings())
    val clear     = in Bool ()
    val seal      = in Bool ()
    val limit     = slave(Flow(UInt(64 bits)))
    val segment   = slave(Flow(RingSegments.Segment(p)))
    val wake      = slave(Flow(UInt(64 bits)))
    val call      = out Bool ()       // A pulse: interrupt the host.
    val now       = in UInt (64 bits) // Device time in ns, which nothing sets.
    val clock     = in UInt (64 bits) // The time of frames, seals and status lines, in ns.
    val request   = master(Stream(Fragment(Request())))
    val position  = out UInt (64 bits)
    val idle      = out Bool ()
    val made      = out UInt (32 bits)
    val silent    = out Bool ()       // The generator makes no frame now.
    val busy      = out Bool ()

    val player = new Bundle {
      val run      = in Bool ()
      val settings = in(Player.Settings())
      val results  = out(Player.Results())
    }
    val playerIdle = out Bool ()
    val stream     = slave(Stream(Player.StreamBeat()))
    val slot       = fromSlot generate slave(Stream(Fragment(SlotFrames.Beat())))
    val net = fromNet generate new Bundle {
      val on             = in Bool ()
      val received, sent = slave(Flow(Fragment(Frames.Beat())))
      val lost           = out UInt (32 bits)
    }

    val snapshot     = in Bool ()
    val accountsBusy = out Bool ()
    val index        = in UInt (Accounts.Width bits)
    val account      = out(AccountTable.Account())
  }
  noIoPrefix()
  // Registers that only a capture with several queues has.
  val sort = (p.queues > 1) generate CaptureQueues.Ports()

  /** The host's settings of the generator. Generator explains the fields. */
  case class GeneratorSettings() extends Bundle {
    val run      = Bool()
    val mix      = Bool()
    val small    = Generator.Kind()
    val middle   = Generator.Kind()
    val large    = Generator.Kind()
    val count    = UInt(32 bits)
    val seed     = Bits(32 bits)
    val portMask = UInt(Frames.PortWidth bits)
  }

  val capture   = if (p.queues == 1) Capture(p) else CaptureQueues(p)
  val generator = Generator()
  val playback  = Player() // The name `player` is that of the ports.
  val sources   = FrameSources(2 + fromSlot.toInt + 2 * fromNet.toInt)

  generator.io.run      := io.generator.run
  generator.io.mix      := io.generator.mix
  generator.io.small    := io.generator.small
  generator.io.middle   := io.generator.middle
  generator.io.large    := io.generator.large
  generator.io.count    := io.generator.count
  generator.io.seed     := io.generator.seed
  generator.io.portMask := io.generator.portMask
  generator.io.now      := io.clock
  io.made               := generator.io.made
  io.silent             := generator.io.idle

  playback.io.run      := io.player.run
  playback.io.settings := io.player.settings
  playback.io.now      := io.now
  playback.io.clock    := io.clock
  playback.io.stream << io.stream
  io.player.results := playback.io.results
  io.playerIdle     := playback.io.idle

  sources.io.inputs(0) << generator.io.frames
  sources.io.begun(0) << FrameSources.begunWhenOffered(generator.io.frames)
  sources.io.inputs(1) << playback.io.frames
  sources.io.begun(1) << playback.io.begun
  val slot = fromSlot generate SlotFrames()
  if (fromSlot) {
    slot.io.now  := io.clock
    slot.io.port := Frames.Ports - 1
    slot.io.stream << io.slot
    sources.io.inputs(2) << slot.io.frames
    sources.io.begun(2) << slot.io.begun
  }
  val net = fromNet generate NetFrames()
  if (fromNet) {
    net.io.on  := io.net.on
    net.io.now := io.clock
    net.io.received << io.net.received
    net.io.sent << io.net.sent
    io.net.lost := net.io.lost
    (sources.io.inputs.takeRight(2), net.io.frames).zipped.foreach(_ << _)
    (sources.io.begun.takeRight(2), net.io.begun).zipped.foreach(_ << _)
  }

  capture.io.settings := io.settings
  capture.io.clear    := io.clear
  capture.io.seal     := io.seal
  capture.io.limit << io.limit
  capture.io.segment << io.segment
  capture.io.wake << io.wake
  io.call        := capture.io.call
  capture.io.now := io.clock
  capture.io.frames << sources.io.output
  capture match {
    case several: CaptureQueues => several.sort <> sort
    case _                      =>
  }
  io.request << capture.io.request
  io.position         := capture.io.position
  io.idle             := capture.io.idle
  capture.io.snapshot := io.snapshot
  io.accountsBusy     := capture.io.accountsBusy
  capture.io.index    := io.index
  io.account          := capture.io.account

  val writes = !capture.io.idle || capture.io.accountsBusy || capture.io.calls
  val sends  = if (fromSlot) slot.io.busy else False
  val copies = if (fromNet) net.io.busy else False
  val makes  = io.generator.run || !generator.io.idle || playback.io.busy || sends || copies
  val works  = RegNext(writes || makes || sources.io.output.valid) init False
  io.busy := works || playback.io.busy
}
