// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.staging

import spinal.core._
import spinal.lib._

import lanebox.capture.vocabulary.CaptureParam
import lanebox.vocabulary.HardBlock

/** UltraRAM of four lanes of 64 bits, each with a row address of its own.
  *
  * So any four units of 8 bytes in sequence are written in one cycle, also from one cell to the
  * next. A read takes a whole row, and `data` follows it by three cycles: the array, its output
  * register, and one more register. A read sees all writes that came at least two cycles before it.
  */
case class StagingMemory(p: CaptureParam) extends Component {
  val io = new Bundle {
    val write = slave(Flow(Write()))
    val read  = slave(Flow(UInt(p.rowWidth bits)))
    val data  = out Bits (HardBlock.DataWidth bits)
  }

  /** A write of up to four units of 8 bytes in sequence to the staging memory. The first unit is in
    * lane `turn` of `row`.
    */
  case class Write() extends Bundle {
    val row = UInt(p.rowWidth bits)
    // Row that is written in the lanes below `turn`. It follows `row`, or begins the next cell.
    val behind = UInt(p.rowWidth bits)
    val turn   = UInt(log2Up(CaptureParam.BeatUnits) bits)
    val units  = UInt(3 bits)
    val data   = Bits(HardBlock.DataWidth bits)
  }

  val UnitBits = 8 * CaptureParam.UnitBytes
  val Units    = CaptureParam.BeatUnits
  val units    = io.write.data.subdivideIn(UnitBits bits)
  val lanes =
    for (i <- 0 until CaptureParam.BeatUnits) yield new Area {
      val memory = Mem(Bits(UnitBits bits), p.cells * CaptureParam.CellRows)
      memory.addAttribute("ram_style", "ultra")
      val unit = U(i, 2 bits) - io.write.turn
      // Which unit the lane gets is chosen by `turn` itself: by `unit` it would take more LUTs.
      val byTurn = Vec((0 until Units).map(turn => units((i - turn + Units) % Units)))
      memory.write(
        address = RegNext((io.write.turn > i) ? io.write.behind | io.write.row),
        data = RegNext(byTurn(io.write.turn)),
        enable = RegNext(io.write.valid && unit.resize(3) < io.write.units) init False
      )
      val word = memory.readSync(io.read.payload, io.read.valid)
      io.data(UnitBits * i, UnitBits bits) := RegNext(RegNext(word))
    }
}
