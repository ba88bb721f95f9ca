// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.staging

import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.capture.TestFrame
import lanebox.capture.vocabulary.CaptureParam
import lanebox.vocabulary.{LaneboxSim, Seed}

/** Tests the staging memory, the capture block's buffer of cells (4 KiB each). It gives back the
  * bytes that were written to it. Each cell's entry says where the last whole block in the cell
  * ends.
  */
class StagingTest extends AnyFunSuite {
  val param         = CaptureParam(cells = 8, segments = 2)
  lazy val compiled = LaneboxSim(Staging(param))
  val cellBytes     = CaptureParam.CellBytes

  class Bench(dut: Staging, r: Random) {
    // All bytes that the bench has written to the staging memory.
    val written = mutable.ArrayBuffer[Byte]()
    // Where each written block ends, in bytes, and whether the block is a record.
    val ends = mutable.ArrayBuffer[(Int, Boolean)]()
    // All bytes that the bench has read back from the staging memory.
    val read = mutable.ArrayBuffer[Byte]()
    // Number of cells that a new block may still reserve.
    var free = param.cells - 1
    // Number of cells that were read back.
    var cells = 0
    // The largest number of cells that were in use at one time.
    var full = 0
    // Units (8 bytes) of the present block that are still to be written.
    private var left   = 0
    private var packet = false

    private def whole(cell: Int, below: Int): (Int, Int) = {
      val begin = cell * cellBytes
      val mine = ends.filter { case (end, _) =>
        end > begin && end <= (begin + cellBytes min below)
      }
      (mine.lastOption.fold(0)(_._1 - begin) / 8, mine.count(_._2))
    }

    private def offer(): Unit = {
      if (left == 0) {
        val filled = written.size % cellBytes / 8
        val rest   = CaptureParam.CellUnits - filled
        // An MBUF's last block, a seal, ends where a cell ends.
        val units = r.nextInt(8) match {
          case 0 if rest >= 2 => rest
          case 1 | 2          => 2 + r.nextInt(1200)
          case _              => 2 + r.nextInt(40)
        }
        val crossed = (filled + units) / CaptureParam.CellUnits
        if (crossed <= free && r.nextInt(3) > 0) {
          free -= crossed
          left = units
          packet = r.nextInt(3) > 0
        }
      }
      val goes = left > 0 && r.nextInt(5) > 0
      dut.io.beats.valid #= goes
      if (goes) {
        val units = left min 4
        val bytes = Seq.fill(32)(r.nextInt().toByte)
        dut.io.beats.data #= TestFrame.bits(bytes)
        dut.io.beats.units #= units
        dut.io.beats.packet #= packet
        dut.io.beats.last #= left == units
        written ++= bytes.take(8 * units)
        left -= units
        if (left == 0) ends += ((written.size, packet))
      }
      full = full max (param.cells - 1 - free)
    }

    def cycle(): Unit = {
      dut.clockDomain.waitSampling()
      if (dut.io.freed.valid.toBoolean) free += 1
      checkOpen()
      offer()
    }

    private def checkOpen(): Unit = {
      val open = dut.io.open
      // The output `open` shows the whole blocks in the cell that is being filled. It lags by some
      // cycles: it may show fewer whole blocks than were written, never more.
      val cell = (0 to 1).map(written.size / cellBytes - _).find(_ % 16 == open.sequence.toInt)
      assert(cell.nonEmpty, s"sequence ${open.sequence.toInt} with ${written.size} bytes")
      val end = cell.get * cellBytes + 8 * open.whole.units.toInt
      assert(open.whole.units.toInt == 0 || ends.exists(_._1 == end), s"no block ends at $end")
    }

    def readCell(): Unit = {
      val entry = (dut.io.full.whole.units.toInt, dut.io.full.whole.records.toInt)
      assert(entry == whole(cells, Int.MaxValue), s"cell $cells")
      val cell = dut.io.full.cell.toInt
      dut.io.full.ready #= true
      cycle()
      dut.io.full.ready #= false
      for (row <- 0 until 128) read ++= readRow(cell, row)
      dut.io.release.valid #= true
      dut.io.release.cell #= cell
      cycle()
      dut.io.release.valid #= false
      cells += 1
    }

    def readRow(cell: Int, row: Int): Seq[Byte] = {
      dut.io.read.valid #= true
      dut.io.read.payload #= cell * 128 + row
      cycle()
      dut.io.read.valid #= false
      for (_ <- 0 until 3) cycle()
      TestFrame.bytes(dut.io.data.toBigInt)
    }
  }

  test(s"cells come back as they were written, seed ${Seed.value}") {
    compiled.doSim("cells", Seed.value) { dut =>
      val bench = new Bench(dut, new Random(Seed.value))
      dut.io.beats.valid #= false
      dut.io.full.ready #= false
      dut.io.release.valid #= false
      dut.io.read.valid #= false
      dut.clockDomain.forkStimulus(10)
      dut.clockDomain.waitSampling(10)
      for (_ <- 0 until 40) {
        for (_ <- 0 until simRandom.nextInt(1500)) bench.cycle()
        while (!dut.io.full.valid.toBoolean) bench.cycle()
        bench.readCell()
      }
      assert(bench.read == bench.written.take(bench.read.size))
      assert(bench.full >= 6, s"${bench.full} cells in use at most")
    }
  }
}
