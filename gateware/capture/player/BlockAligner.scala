// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.player

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.HardBlock

/** Cuts a stream of bytes into pcapng blocks, and moves each block to lane 0.
  *
  * The stream is little endian, 32 bytes a beat. A block begins at any dword, and is as long as its
  * second dword says. Each block leaves as beats of its own, so a block of B beats takes B cycles
  * wherever it begins. BlockAligner checks nothing: if a length is impossible, PacketReader sets
  * `stop`. While `stop` is high all beats are taken and dropped, and the first beat after it begins
  * with a block.
  *
  * A block leaves as soon as its last byte has come. It needs no further beat of the stream.
  */
case class BlockAligner() extends Component {
  import PlayerParam.{BlockWidth, DataWidth, LaneWidth}
  val Lanes = HardBlock.Dwords

  val io = new Bundle {
    val stop   = in Bool ()
    val stream = slave(Stream(Bits(DataWidth bits)))
    val room   = in Bool () // A beat may leave.
    val blocks = master(Flow(Fragment(BlockAligner.BlockBeat())))
    // The bytes of the stream that have come so far end inside a block.
    val inBlock = out Bool ()
    val busy    = out Bool ()
  }

  /** A beat of the stream. Each flag has a bit for each dword, which holds if that dword is the
    * length of a block.
    */
  case class Beat() extends Bundle {
    val dwords = Vec(Bits(32 bits), Lanes)
    // A block of this length has at most one beat (`single`), or at most two beats (`double`).
    val single, double = Bits(Lanes bits)
    // Bit i is about a block that begins in the lane before dword i. `within`: the block ends in
    // the beat of the stream in which it begins. `fills`: the block reaches the end of that beat,
    // or further.
    val within, fills = Bits(Lanes bits)
  }
  val entry = new Area {
    val beat = Beat()
    beat.dwords.assignFromBits(io.stream.payload)
    for (i <- 0 until Lanes) {
      beat.single(i) := beat.dwords(i).asUInt <= 4 * Lanes
      beat.double(i) := beat.dwords(i).asUInt <= 8 * Lanes
      val size = beat.dwords(i).asUInt >> 2
      val room = Lanes - (i + Lanes - 1) % Lanes
      beat.within(i) := size <= room
      beat.fills(i)  := size >= room
    }
    val out = io.stream.translateWith(beat).m2sPipe()
  }

  // The next dword of the block is in lane `lane` of `held`. `entry` has the stream's next beat.
  val held      = Reg(Beat())
  val heldValid = RegInit(False)
  val lane      = Reg(UInt(LaneWidth bits)) init 0
  val first     = RegInit(True)

  /** The eight dwords from `lane` on, and what the block's length says if it begins with them. */
  val aligned = new Area {
    // Two steps, by an even number of dwords and by one more, take fewer LUTs than one.
    val both   = held.dwords ++ entry.out.dwords
    val even   = (0 to Lanes).map(i => Vec((0 until Lanes by 2).map(by => both(i + by)))(lane >> 1))
    val data   = Vec((0 until Lanes).map(i => lane(0) ? even(i + 1) | even(i)))
    val length = data(1).asUInt
    def ofLength(flags: Bits, later: Bits): Bool =
      Vec((1 to Lanes).map(i => if (i < Lanes) flags(i) else later(0)))(lane)
    val single = ofLength(held.single, entry.out.single)
    val double = ofLength(held.double, entry.out.double)
    val within = ofLength(held.within, entry.out.within)
    val fills  = ofLength(held.fills, entry.out.fills)
  }

  /** Finds the end of the block. `left` counts the dwords of the block that were left before its
    * previous beat, so it is 8 more than the dwords that are left now.
    */
  val ending = new Area {
    val left = Reg(UInt(BlockWidth - 2 bits)) init 0
    // The present beat is the block's last one. Used only if it is not also the block's first beat.
    val later = Reg(Bool()) init False
    val ends  = first ? aligned.single | later
    val rest  = first ? aligned.length(LaneWidth + 1 downto 2) | left(LaneWidth - 1 downto 0)
    // `rest` is the number of the block's dwords in its last beat, modulo 8. If it is 0, all eight
    // dwords of the last beat belong to the block.
    val full = first ? aligned.length(LaneWidth + 2) | rest === 0
    val end  = lane +^ (full ? U(Lanes, LaneWidth + 1 bits) | rest.resize(LaneWidth + 1))
    // `before` is the lane behind the block's end, used if the block began in an earlier beat. It
    // is computed from `left`, and not from `end`, since `end` also depends on the length of a
    // block that begins now, which is known too late in the cycle.
    val before = lane +^ ((left(LaneWidth - 1 downto 0) - 1) +^ U(1, 1 bits))
    val within = first ? aligned.within | before <= Lanes
    val fills  = first ? aligned.fills | before >= Lanes
  }
  import ending.{end, ends}

  val whole  = ending.within && ends && !(first && lane === Lanes - 1)
  val enough = entry.out.valid || lane === 0 || whole
  val fire   = heldValid && enough && io.room && !io.stop
  val moves  = !ends || ending.fills
  val takes  = !heldValid || (fire && moves) || io.stop
  // No stream operator fits: a block ends at any lane, so a beat of the stream is used for one or
  // two beats of blocks.
  entry.out.ready := takes
  when(takes) {
    held      := entry.out.payload
    heldValid := entry.out.valid && !io.stop
  }
  when(fire) {
    first        := ends
    ending.left  := first ? (aligned.length >> 2).resize(BlockWidth - 2) | ending.left - Lanes
    ending.later := first ? aligned.double | ending.left <= 3 * Lanes
    when(ends) { lane := end.resized }
  }
  when(io.stop) {
    first := True
    lane  := 0
  }

  io.blocks.valid := fire
  io.blocks.last  := ends
  io.blocks.opens := first
  io.blocks.data  := aligned.data.asBits
  io.blocks.end   := ending.rest - 1
  io.inBlock      := !first || heldValid
  io.busy         := fire || entry.out.fire
}

object BlockAligner {

  /** A beat of a block. `opens` marks its first beat. `end` is the lane of the block's last dword,
    * in its last beat.
    */
  case class BlockBeat() extends Bundle {
    val data  = Bits(PlayerParam.DataWidth bits)
    val opens = Bool()
    val end   = UInt(PlayerParam.LaneWidth bits)
  }
}
