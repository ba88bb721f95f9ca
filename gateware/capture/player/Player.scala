// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.player

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.Frames

/** Makes frames of a stream of pcapng blocks: what was recorded is played again.
  *
  * {{{
  *   stream ---> BlockAligner ---> PacketReader --- heads ---> store ---> PlayerPace ---+
  *                    ^                |   |                                            v
  *                    +--- stop -------+   +------ data ----> store ---------------> frames
  * }}}
  *
  * A frame begins to leave when all of its data is in the store and its block has broken no rule.
  * So it leaves at a beat a cycle, whole or not at all. A block that breaks a rule stops the
  * player: the frames before that block leave, the stream behind it is taken and dropped, and
  * `error` says which rule was broken. So the stream never waits for ever.
  *
  * When `run` rises the player begins anew: it clears its counts and the error, and takes the next
  * beat of the stream as the begin of a block. When `run` falls the frame that is leaving is the
  * last one.
  */
case class Player() extends Component {
  setDefinitionName("Player")
  val io = new Bundle {
    val run      = in Bool ()
    val settings = in(Player.Settings())
    val now      = in UInt (64 bits) // Device time in ns, by which the player keeps its pace.
    val clock    = in UInt (64 bits) // The time that frames get, in ns.
    val stream   = slave(Stream(Player.StreamBeat()))
    val frames   = master(Frames())
    val begun   = master(Flow(UInt(64 bits))) // See FrameSources.
    val results = out(Player.Results())
    val idle    = out Bool ()                 // No frame is leaving.
    val busy    = out Bool ()
  }
  noIoPrefix()

  val aligner = BlockAligner()
  val reader  = PacketReader()
  val pace    = PlayerPace()
  val heads   = StreamFifo(Frames.Head(), PlayerParam.StoreFrames, latency = 1)
  val data    = StreamFifo(Bits(PlayerParam.DataWidth bits), PlayerParam.StoreBeats)
  heads.logic.ram.addAttribute("ram_style", "distributed")

  val inFrame = RegInit(False)
  val ran     = RegNext(io.run) init False
  val begins  = io.run && !ran
  // The stream waits until all parts of the player have been cleared.
  val opens = RegNext(Vec(io.run, ran, RegNext(io.run && ran) init False).andR) init False
  // Without `run` both stores are emptied, but not before the frame that is leaving has left.
  val empties = RegNext(!io.run && !inFrame) init True
  heads.io.flush := empties
  data.io.flush  := empties
  pace.io.clear  := empties

  val room = new Area {
    def has(fifo: StreamFifo[_ <: Data]): Bool =
      RegNext(fifo.io.availability > PlayerParam.Margin) init False
    val forHead = has(heads)
    val forData = has(data)
    aligner.io.room := forHead && forData
  }

  val intake = new Area {
    val stops = RegNext(reader.io.stopped) init False
    aligner.io.stop := stops || empties
    aligner.io.stream << io.stream.continueWhen(opens).translateWith(io.stream.data)
    // `failed` is registered, since `ready` comes late in the cycle. The frames of the failed bytes
    // reach the reader some cycles later, so `failed` still comes in time.
    val failed = RegNext(io.stream.fire && io.stream.failed) init False
    reader.io.failed    := failed
    reader.io.clear     := begins
    reader.io.fixedPort := io.settings.fixedPort
    reader.io.port      := io.settings.port
    reader.io.blocks << aligner.io.blocks
    heads.io.push << reader.io.heads.toStream
    data.io.push << reader.io.data.toStream
  }

  pace.io.settings := io.settings.pace
  pace.io.now      := io.now
  pace.io.heads << heads.io.pop

  val leaving = new Area {
    val body  = data.io.pop.m2sPipe(flush = empties)
    val due   = pace.io.due
    val left  = Reg(UInt(Frames.LengthWidth - 5 bits)) init 0
    val first = !inFrame
    val more  = ((due.kept - 1) >> 5).resize(Frames.LengthWidth - 5)
    val beat  = Frames()
    // No stream operator fits: a head is taken with its frame's first beat, and gives the number of
    // beats, which the stream of data does not have.
    beat.valid := body.valid && (inFrame || (due.valid && io.run))
    beat.last  := first ? (more === 0) | left === 0
    beat.data  := body.payload
    beat.bytes := first ? due.kept.resize(5) | RegNextWhen(due.kept.resize(5), due.fire)
    beat.error := False
    beat.head  := due.payload
    when(!io.settings.keepTime) { beat.head.time := io.clock }
    body.ready := beat.fire
    due.ready  := beat.fire && first
    when(beat.fire) {
      inFrame := !beat.last
      left    := (first ? more | left) - 1
    }
    io.frames << beat.m2sPipe()
    // The time at which a frame leaves, also if the frame keeps its recorded one.
    io.begun.valid   := io.frames.valid
    io.begun.payload := RegNextWhen(io.clock, beat.fire && first)
  }
  import leaving.{beat, due}

  val played = new Area {
    val begun, ended   = Reg(UInt(64 bits)) init 0
    val packets, bytes = Reg(UInt(48 bits)) init 0
    val fired          = RegNext(due.fire) init False
    val kept           = RegNext(due.kept)
    val time           = RegNext(io.now)
    val some           = RegInit(False)
    when(fired) {
      packets := packets + 1
      bytes   := bytes + kept
      some    := True
      when(!some) { begun := time }
    }
    when(RegNext(beat.fire && beat.last) init False) { ended := time }
    when(begins) {
      packets := 0
      bytes   := 0
      some    := False
      begun   := 0
      ended   := 0
    }
    io.results.begun   := begun
    io.results.ended   := ended
    io.results.packets := packets
    io.results.bytes   := bytes
    io.results.passed  := reader.io.passed
    io.results.skipped := reader.io.skipped
    io.results.empty   := reader.io.empty
    io.results.error   := reader.io.error
    io.results.inBlock := aligner.io.inBlock
  }

  val stored = heads.io.pop.valid || pace.io.waits || inFrame || io.frames.valid
  val moves  = io.stream.fire || aligner.io.busy || reader.io.busy
  val works  = RegNext(stored || moves) init False
  io.idle := !inFrame && !io.frames.valid
  io.busy := works || stored
}

object Player {

  /** A beat of the h2c stream (host to card). `failed`: the host did not give the beat's bytes. */
  case class StreamBeat() extends Bundle {
    val data   = Bits(PlayerParam.DataWidth bits)
    val failed = Bool()
  }

  /** The host's settings. They must stay the same while `run` is on. */
  case class Settings() extends Bundle {
    val pace = PlayerPace.Settings()
    // All frames get the port `port`. Otherwise a frame gets the number of its interface as port.
    val fixedPort = Bool()
    val port      = UInt(Frames.PortWidth bits)
    // A frame keeps its recorded time. Otherwise it gets the time at which it leaves.
    val keepTime = Bool()
  }

  case class Results() extends Bundle {
    val error                  = PacketReader.Error()
    val inBlock                = Bool()
    val passed, skipped, empty = UInt(32 bits)
    val packets, bytes         = UInt(48 bits)
    val begun, ended           = UInt(64 bits) // Device times of the first beat and the last.
  }
}
