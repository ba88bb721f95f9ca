// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.record

import spinal.core._
import spinal.lib._

import lanebox.capture.vocabulary.CaptureParam
import lanebox.vocabulary.{Frames, HardBlock}

/** Takes frames while `run` is on, and cuts them to the length that is to be kept.
  *
  * Frames that begin while `run` is off are dropped and not counted. FrameTrim drops the data of
  * bad frames, unless `keepBad` is on. The heads of bad frames go on, so that the frames are
  * counted in order. No more is kept of a frame than fits in an MBUF.
  *
  * Heads and data leave through a queue each. Their lengths agree: each head that is not bad is
  * followed by the beats that its `kept` needs.
  */
case class FrameTrim(queueWidth: Int = 0) extends Component {
  val io = new Bundle {
    val run      = in Bool ()
    val keepBad  = in Bool ()
    val snap     = in UInt (Frames.LengthWidth bits)
    val mbufLog2 = in UInt (5 bits)
    val frames   = slave(Frames())
    val queue    = in UInt (queueWidth bits) // Queue of the frame whose beat `frames` offers.
    val heads    = master(Stream(FrameTrim.TrimmedHead(queueWidth)))
    val data     = master(Stream(Bits(HardBlock.DataWidth bits)))
    // Some frame has entered FrameTrim and has not left it completely.
    val busy = out Bool ()
  }
  val largest = RegNext(
    (io.mbufLog2 > Frames.LengthWidth) ? U((1 << Frames.LengthWidth) - 1, Frames.LengthWidth bits) |
      ((U(1, Frames.LengthWidth + 1 bits) |<< io.mbufLog2) - CaptureParam.MbufRest).resized
  )
  val cap = RegNext((io.snap =/= 0 && io.snap < largest) ? io.snap | largest)

  val gate = new Area {
    val first  = RegNextWhen(io.frames.last, io.frames.fire) init True
    val inside = RegInit(False)
    val opens  = first ? io.run | inside
    when(io.frames.fire) { inside := opens && !io.frames.last }
    case class Beat() extends Bundle {
      val frame = Fragment(Frames.Beat())
      val queue = UInt(queueWidth bits)
    }
    val beat = Beat()
    beat.frame := io.frames.payload
    beat.queue := io.queue
    val out = io.frames.throwWhen(!opens).translateWith(beat).m2sPipe()
  }

  /** Computes at a frame's first beat how many bytes of the frame are kept. */
  val cut = new Area {
    val frame = gate.out.frame
    val first = RegNextWhen(frame.last, gate.out.fire) init True
    val kept  = (frame.head.kept < cap) ? frame.head.kept | cap
    case class Beat() extends Bundle {
      val data    = Bits(HardBlock.DataWidth bits)
      val first   = Bool()
      val trimmed = FrameTrim.TrimmedHead(queueWidth)
    }
    val beat = Beat()
    val head = beat.trimmed.head
    beat.data          := frame.data
    beat.first         := first
    beat.trimmed.bad   := frame.error && !io.keepBad
    beat.trimmed.queue := gate.out.payload.queue
    head.time          := frame.head.time
    head.original      := frame.head.original
    head.kept          := kept
    head.port          := frame.head.port
    head.flags         := frame.head.flags
    val out = gate.out.translateWith(beat).m2sPipe()
  }

  val heads = StreamFifo(FrameTrim.TrimmedHead(queueWidth), 16, latency = 1)
  val data  = StreamFifo(Bits(HardBlock.DataWidth bits), 32, latency = 1)
  for (fifo <- Seq(heads.logic.ram, data.logic.ram)) fifo.addAttribute("ram_style", "distributed")
  // `room` is a cycle late and may miss the last push, so two free entries are required.
  val room = RegNext(heads.io.availability > 1 && data.io.availability > 1) init False

  val store = new Area {
    val beat = cut.out.payload
    // `more` counts the beats that are still to be kept of a frame, without the present beat.
    val more  = Reg(UInt(Frames.LengthWidth - 5 bits)) init 0
    val keeps = beat.first ? !beat.trimmed.bad | more =/= 0
    val taken = cut.out.continueWhen(room).toFlow
    when(taken.valid && keeps) {
      more := beat.first ? ((beat.trimmed.head.kept - 1) >> 5) | more - 1
    }
    when(taken.valid && beat.first && beat.trimmed.bad) { more := 0 }
    val begins = taken.takeWhen(beat.first)
    val kept   = taken.takeWhen(keeps)
    heads.io.push << begins.translateWith(beat.trimmed).toStream
    data.io.push << kept.translateWith(beat.data).toStream
  }

  io.heads << heads.io.pop.m2sPipe()
  io.data << data.io.pop.m2sPipe()
  io.busy := gate.inside || gate.out.valid || cut.out.valid || heads.io.pop.valid || io.heads.valid
}

object FrameTrim {

  /** A frame's head as it leaves FrameTrim. No data follows the head of a bad frame. */
  case class TrimmedHead(queueWidth: Int = 0) extends Bundle {
    val head  = Frames.Head()
    val bad   = Bool()
    val queue = UInt(queueWidth bits)
  }
}
