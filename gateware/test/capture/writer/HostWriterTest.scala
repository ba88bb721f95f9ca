// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.writer

import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.capture.vocabulary.CaptureParam
import lanebox.capture.{RingHost, TestFrame}
import lanebox.vocabulary.{LaneboxSim, Seed}

/** Tests that HostWriter writes a full cell (4 KiB of the ring) to host memory at once, and part of
  * a cell when that part has waited for `patience` cycles. The status line, the card's report of
  * its position, follows the data that it counts. TransferChooser has no suite of its own: it is
  * tested here.
  */
class HostWriterTest extends AnyFunSuite {
  val param         = CaptureParam(cells = 8, segments = 16)
  lazy val compiled = LaneboxSim(WriterDut(param))

  class Bench(dut: WriterDut, r: Random, waits: Int) {
    val ring         = RingHost.ring(r, 5, 13)
    val host         = new RingHost(dut.io.request, r, ring)
    val written      = mutable.ArrayBuffer[Byte]()
    var free         = param.cells - 1
    var records      = 0
    var now          = 0L
    var shown        = 0L
    private var left = 0

    def start(relaxed: Boolean): Unit = {
      dut.io.beats.valid #= false
      dut.io.request.ready #= false
      dut.io.wake.valid #= false
      dut.io.patience #= waits
      dut.io.relaxed #= relaxed
      dut.io.statusAddress #= ring.status
      dut.io.segmentLog2 #= ring.segmentLog2
      dut.io.lastSegment #= ring.segments.size - 1
      dut.io.clear #= true
      dut.io.segment.valid #= true
      dut.clockDomain.forkStimulus(10)
      dut.clockDomain.waitSampling(5)
      for ((base, index) <- ring.segments.zipWithIndex) {
        dut.io.segment.index #= index
        dut.io.segment.page #= base / 4096
        dut.clockDomain.waitSampling()
      }
      dut.io.segment.valid #= false
      dut.io.clear #= false
      dut.clockDomain.waitSampling(10)
    }

    /** Drives one cycle: offers the next beat of the present block. If no block is under way, `may`
      * is true and the cells and the ring have room, a new block of `units` units of 8 bytes
      * begins.
      */
    def cycle(may: Boolean, units: => Int = 12): Unit = {
      dut.clockDomain.waitSampling()
      now += 1
      host.cycle()
      if (dut.io.freed.toBoolean) free += 1
      if (left == 0 && may) {
        val wanted  = units
        val crossed = (written.size % 4096 / 8 + wanted) / 512
        // A new block must not overwrite bytes of the ring that no status line has reported yet,
        // since the model of the host reads them only then.
        if (crossed <= free && written.size + 8 * wanted - host.position < host.size) {
          free -= crossed
          left = wanted
        }
      }
      dut.io.beats.valid #= left > 0
      if (left > 0) {
        val bytes = Seq.fill(32)(r.nextInt().toByte)
        val part  = left min 4
        dut.io.beats.data #= TestFrame.bits(bytes)
        dut.io.beats.units #= part
        dut.io.beats.packet #= true
        dut.io.beats.last #= left == part
        written ++= bytes.take(8 * part)
        left -= part
        if (left == 0) records += 1
      }
    }

    def finish(): Unit = {
      while (left > 0) cycle(may = false)
      for (_ <- 0 until waits + 2000) cycle(may = false)
      assert(dut.io.idle.toBoolean && host.position == written.size && host.records == records)
      assert(dut.io.position.toBigInt == written.size && host.stream == written)
    }
  }

  def run(
      name: String,
      waits: Int,
      relaxed: Boolean = false
  )(body: (WriterDut, Bench) => Unit): Unit =
    compiled.doSim(name, Seed.value) { dut =>
      val bench = new Bench(dut, new Random(Seed.value), waits)
      bench.start(relaxed)
      body(dut, bench)
      bench.finish()
    }

  for ((waits, pauses) <- Seq((0, 0.3), (40, 0.0), (200, 0.6)))
    test(s"all blocks arrive, wait $waits, $pauses of the cycles stalled, seed ${Seed.value}") {
      run(s"random$waits", waits, relaxed = waits == 40) { (_, bench) =>
        val r = new Random(Seed.value)
        bench.host.pauses = pauses
        for (cycle <- 0 until 16000) {
          val busy = cycle / 1000 % 4 == 0
          bench.cycle(
            busy || r.nextInt(400) == 0,
            2 + r.nextInt(if (r.nextInt(9) == 0) 1200 else 40)
          )
        }
        assert(bench.written.size > 2 * bench.host.size && bench.host.partial > 3)
      }
    }

  test("under load each cell is one write, and a line follows every fourth") {
    run("load", 250) { (_, bench) =>
      val from                           = 3000
      var (beats, requests, lines, size) = (0L, 0, 0, 0)
      for (i <- 0 until 3 * from) {
        if (i == from) {
          beats = bench.host.beats
          requests = bench.host.requests
          lines = bench.host.lines
          size = bench.written.size
        }
        bench.cycle(may = true, 200)
      }
      val cells = bench.host.requests - requests
      assert(bench.host.partial == 0 && (bench.host.lines - lines - cells / 4.0).abs <= 2)
      assert(cells > 40 && bench.host.beats - beats > 0.97 * 2 * from, "cycles without a beat")
    }
  }

  test("a record that waits alone goes after its time, and the line follows at once") {
    for (waits <- Seq(0, 30, 300))
      run(s"alone$waits", waits) { (_, bench) =>
        for (_ <- 0 until 10) {
          val begin    = bench.now
          val position = bench.written.size
          bench.cycle(may = true)
          while (bench.host.position == position) bench.cycle(may = false)
          val taken = bench.now - begin
          assert(taken >= waits && taken < waits + 30, s"$taken cycles")
          for (_ <- 0 until 400) bench.cycle(may = false)
        }
      }
  }

  test(s"a call comes behind the line that is beyond the wake, seed ${Seed.value}") {
    run("call", 20) { (dut, bench) =>
      bench.host.pauses = 0.7
      for (_ <- 0 until 60) {
        val wake = bench.host.position
        dut.io.wake.valid #= true
        dut.io.wake.payload #= BigInt(wake)
        bench.cycle(may = false)
        dut.io.wake.valid #= false
        for (_ <- 0 until 40) {
          bench.cycle(may = false)
          assert(!dut.io.call.toBoolean, "a call without a new line")
        }
        var late = 0
        bench.cycle(may = true)
        while (!dut.io.call.toBoolean) {
          late = if (bench.host.position > wake) late + 1 else 0
          assert(late < 10, "no call")
          bench.cycle(may = false)
        }
        assert(bench.host.position > wake, "a call before its line")
      }
    }
  }
}
