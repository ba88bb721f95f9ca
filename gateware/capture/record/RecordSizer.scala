// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.record

import spinal.core._
import spinal.lib._

import lanebox.capture.vocabulary.CaptureParam
import lanebox.vocabulary.Frames

/** Computes how long a frame's Enhanced Packet Block will be.
  *
  * A block has 7 dwords of header, the frame's data, options, and the block's length once more. The
  * block is padded to a multiple of 8 bytes. pcapng reads four bytes of padding as opt_endofopt.
  */
case class RecordSizer(queueWidth: Int = 0) extends Component {
  val io = new Bundle {
    val frame = slave(Stream(FrameTrim.TrimmedHead(queueWidth)))
    val sized = master(Stream(RecordSizer.SizedFrame(queueWidth)))
    val busy  = out Bool ()
  }
  val counted = new Area {
    case class Counted() extends Bundle {
      val trimmed = FrameTrim.TrimmedHead(queueWidth)
      val flagged = Bool()
      val dwords  = UInt(Frames.LengthWidth - 1 bits)
    }
    val frame = Counted()
    frame.trimmed := io.frame.payload
    frame.flagged := io.frame.head.flags =/= 0
    frame.dwords  := (io.frame.head.kept +^ U(3)) >> 2
    val out = io.frame.translateWith(frame).halfPipe()
  }

  val frame = counted.out.payload
  def units(options: UInt): UInt =
    ((frame.dwords +^ (options + RecordSizer.Frame + 1)) >> 1).resize(CaptureParam.BlockWidth)
  val flags = frame.flagged ? U(RecordSizer.FlagsDwords, 4 bits) | U(0, 4 bits)
  val sized = RecordSizer.SizedFrame(queueWidth)
  sized.head     := frame.trimmed.head
  sized.bad      := frame.trimmed.bad
  sized.queue    := frame.trimmed.queue
  sized.flagged  := frame.flagged
  sized.dwords   := frame.dwords
  sized.plain    := units(flags)
  sized.counting := units(flags + RecordSizer.DropsDwords)
  // MbufPlacer decides on a frame late in a cycle. The path ends in the stage before, whose
  // `ready` is a register. So that stage takes a frame in every second cycle at the most.
  io.sized << counted.out.translateWith(sized).m2sPipe()
  io.busy := counted.out.valid || io.sized.valid
}

object RecordSizer {
  val HeaderDwords = 7
  val Frame        = HeaderDwords + 1 // Dwords of a record's header, and of the length at its end.
  val FlagsDwords  = 2
  val DropsDwords  = 3

  /** A frame's head and the size of its record in units of 8 bytes: `plain` without the option
    * epb_dropcount, `counting` with it.
    */
  case class SizedFrame(queueWidth: Int = 0) extends Bundle {
    val head            = Frames.Head()
    val bad             = Bool()
    val queue           = UInt(queueWidth bits)
    val flagged         = Bool()
    val dwords          = UInt(Frames.LengthWidth - 1 bits) // Dwords of the frame's data.
    val plain, counting = UInt(CaptureParam.BlockWidth bits)
  }
}
