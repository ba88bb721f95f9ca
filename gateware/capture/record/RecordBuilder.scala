// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.record

import spinal.core._
import spinal.lib._

import lanebox.capture.vocabulary.CaptureParam
import lanebox.vocabulary.HardBlock

/** Makes the bytes of blocks: a beat in every cycle, if the frames' data is there.
  *
  * A block's header has seven dwords, so data is always shifted by one dword: each beat holds seven
  * dwords of the beat of data before and one of the next. A record whose data has B beats takes
  * B + 1 cycles, and one more if its options need it. Nothing can hold the beats up, since
  * MbufPlacer has reserved their room before.
  */
case class RecordBuilder(queueWidth: Int = 0) extends Component {
  val io = new Bundle {
    val blocks = slave(Stream(Block(queueWidth)))
    val data   = slave(Stream(Bits(HardBlock.DataWidth bits)))
    val beats  = master(Flow(RecordBuilder.BlockBeat(queueWidth)))
    val idle   = out Bool ()
  }
  val Dwords = HardBlock.Dwords

  val expander = BlockExpander(queueWidth)
  expander.io.block << io.blocks
  val layout = expander.io.layout.m2sPipe()

  /** Says what the present beat of a block holds. These flags are computed with the beat before, so
    * that they are known early in the cycle.
    */
  val place = new Area {
    val go                                  = Bool()
    val first                               = RegInit(True)
    val next                                = Reg(UInt(CaptureParam.BlockWidth - 2 bits)) init 1
    def early(now: Bool, later: Bool): Bool = first ? now | RegNextWhen(later, go)

    val inData   = early(True, next < layout.body)
    val endData  = early(layout.shortData, next + 1 === layout.body)
    val last     = early(layout.single, next === layout.lastBeat)
    val tailHere = early(layout.tailFirst, next === layout.tailBeat)
    val tailMore = early(False, tailHere)
    when(go) {
      first := last
      next  := last ? U(1) | next + 1
    }
  }
  import place.{endData, first, go, inData, last}
  val needs = layout.takes && inData
  // No stream operator fits, since a block takes several beats of frame data, or none.
  go            := layout.valid && (!needs || io.data.valid)
  io.data.ready := layout.valid && needs
  layout.ready  := go && last

  /** Selects the bytes behind a block's header: the frame's data in a record, dword 7 of a seal, or
    * zeros. A choice between data and zeros is a reset of `carry`, and takes no LUT.
    */
  val source = new Area {
    val bytes = io.data.payload.subdivideIn(8 bits).zipWithIndex.map { case (byte, i) =>
      (needs && (!endData || layout.mask(i))) ? byte | B(0, 8 bits)
    }
    val own   = first ? layout.inside | B(0, 32 bits)
    val data  = Vec(bytes).asBits.subdivideIn(32 bits)
    val words = (data.head | own) +: data.tail
    // A seal of 72 bytes has its length in lane 1 of its third beat. No other seal has a third one.
    val end   = B(8 * (CaptureParam.SealUnits + 1), 32 bits).andMask(layout.sealing)
    val carry = Reg(Vec(Bits(32 bits), Dwords - 1))
    when(go) { carry := Vec(words.tail.updated(1, words(2) | end)) }
  }

  val beat = Flow(RecordBuilder.BlockBeat(queueWidth))
  beat.valid := go && layout.writes
  for (lane <- 0 until Dwords) {
    val plain = if (lane < Dwords - 1) first ? layout.header(lane) | source.carry(lane)
    else source.words(0)
    val tail =
      (place.tailHere && layout.tailLane <= lane) || (place.tailMore && layout.tailLane > lane)
    beat.data(32 * lane, 32 bits) := tail ? layout.tail(lane) | plain
  }
  beat.last   := last
  beat.packet := layout.packet
  beat.queue  := layout.payload.queue
  beat.units  := last ? layout.units | U(CaptureParam.BeatUnits, 3 bits)
  io.beats << beat.m2sPipe()
  io.idle := !layout.valid && !io.blocks.valid && !io.beats.valid
}

object RecordBuilder {

  /** A beat of up to 32 bytes of a pcapng block, which is written to the staging memory. */
  case class BlockBeat(queueWidth: Int = 0) extends Bundle {
    val data  = Bits(HardBlock.DataWidth bits)
    val queue = UInt(queueWidth bits)
    // Units of 8 bytes in the beat: 1 to 4. Only a block's last beat has fewer than 4.
    val units  = UInt(3 bits)
    val last   = Bool()
    val packet = Bool() // The block is the record of a frame, and no seal or filler.
  }
}
