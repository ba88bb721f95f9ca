// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import spinal.core._
import spinal.lib._

import lanebox.virtio.vocabulary.Row
import lanebox.vocabulary.HardBlock

/** Packs pieces of up to 32 bytes, which begin at any byte of their beat, into rows of 32 bytes.
  *
  * A row leaves when the byte behind it comes. `end` makes the last row leave, with its number of
  * bytes. `forget` drops the bytes since the last `end`, in order with the pieces: `forgot` comes
  * when no row of them can follow. The three inputs must not come in the same cycle.
  */
case class BytePacker() extends Component {
  import BytePacker._

  val io = new Bundle {
    val piece  = slave(Flow(Piece()))
    val end    = in Bool ()
    val forget = in Bool ()
    val row    = master(Flow(Row()))
    val forgot = out Bool ()
    val idle   = out Bool ()
  }

  val place = new Area {
    val held   = Reg(UInt(6 bits)) init 0 // Bytes, 0 to 32, that wait for a row to become full.
    val total  = held +^ io.piece.bytes
    val emits  = total > Bytes
    val leaves = io.end && held =/= 0
    when(io.piece.valid) { held := (emits ? (total - Bytes) | total).resized }
    when(io.end || io.forget) { held := 0 }
  }

  /** The piece is rotated by 0 to 30 bytes, to the place behind the bytes that are held. */
  val turn = new Area {
    val amount = place.held(4 downto 0) - io.piece.start
    val coarse = amount(4 downto 3).muxList((0 to 3).map(n => n -> rotate(io.piece.data, 8 * n)))
    val fine   = amount(2 downto 1).muxList((0 to 3).map(n => n -> rotate(coarse, 2 * n)))
    val data   = RegNext(fine)
    val odd    = RegNext(amount(0))
    val valid  = RegNext(io.piece.valid) init False
    val emits  = RegNext(place.emits)
    val last   = RegNext(place.leaves) init False
    val bytes  = RegNext(place.held(4 downto 0))
    val keep   = RegNext(Vec((0 until Bytes).map(place.held > _)).asBits)
    val forgot = RegNext(io.forget) init False
  }

  val merge = new Area {
    val data = turn.odd ? rotate(turn.data, 1) | turn.data
    val held = Reg(Bits(HardBlock.DataWidth bits))
    val both = Vec((0 until Bytes).map { n =>
      turn.keep(n) ? held(8 * n, 8 bits) | data(8 * n, 8 bits)
    }).asBits
    when(turn.valid) { held := turn.emits ? data | both }

    val row = Flow(Row())
    row.valid := (turn.valid && turn.emits) || turn.last
    row.data  := both
    row.last  := turn.last
    row.bytes := turn.bytes
    io.row << row
    io.forgot := turn.forgot
    io.idle   := !turn.valid && !turn.last && !turn.forgot
  }
}

object BytePacker {

  /** Cycles from `end` and `forget` to the last row and to `forgot`. */
  val Latency = 1
  val Bytes   = HardBlock.BeatBytes

  /** The bytes `start` to `start + bytes - 1` of `data`: 1 to 32 bytes. */
  case class Piece() extends Bundle {
    val data  = Bits(HardBlock.DataWidth bits)
    val start = UInt(2 bits)
    val bytes = UInt(6 bits)
  }

  private def rotate(data: Bits, bytes: Int): Bits = data.rotateLeft(8 * bytes)
}
