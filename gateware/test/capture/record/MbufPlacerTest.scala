// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.record

import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.capture.accounts.Accounts
import lanebox.capture.vocabulary.CaptureParam
import lanebox.vocabulary.{LaneboxSim, Seed}

/** MbufPlacer places a record wherever it fits, and loses a frame only if it does not. Fillers and
  * a seal fill the rest of each MBUF (a fixed part of the ring). The bench has a model of MBUF,
  * cells and losses, and checks each block against it.
  */
class MbufPlacerTest extends AnyFunSuite {
  val param         = CaptureParam(cells = 8, segments = 2)
  lazy val compiled = LaneboxSim(MbufPlacer(param))

  case class Sized(port: Int, original: Int, bad: Boolean, plain: Int)

  class Bench(dut: MbufPlacer, r: Random, mbufLog2: Int, lossless: Boolean) {
    val mbuf = 1 << (mbufLog2 - 3)
    var fill = 0
    var free = param.cells - 1
    // Values of `free`, the number of free cells, in the last 8 cycles.
    var known   = mutable.Queue.fill(8)(free)
    var begun   = false
    var allowed = true
    // Cycles since an MBUF ended or `allowed` last rose. `allowed` lets the next MBUF begin.
    var allowedSince = 0
    // Cycles since MbufPlacer was last told that the next MBUF may not begin.
    var refusedSince  = 1000
    private val noise = new Random(mbufLog2) // For inputs that must not matter.
    var number        = 0
    var records       = 0L
    var bytes         = 0L
    // Counts of lost frames by cause: key 1 if the ring was full, key 2 if no cell was free.
    val lost                 = mutable.Map(1 -> 0, 2 -> 0)
    val pending              = Array.fill(16)(0L)
    val fates                = mutable.ArrayBuffer[Int]()
    var asked                = 0
    val reasons              = mutable.ArrayBuffer[Int]()
    var frame: Option[Sized] = None
    val blocks               = mutable.Queue[() => Unit]()
    var frames               = 0
    var stopping             = false
    // `closing`: MbufPlacer has handed over a filler, so it is closing the MBUF. `mayClose`: it may
    // have decided to close the MBUF, but has not yet handed over a block that shows it.
    private var closing, mayClose = false

    private def units(f: Sized)     = f.plain + (if (pending(f.port) > 0) 2 else 0)
    private def crossed(units: Int) = (fill % 512 + units) / 512
    private def place(units: Int): Unit = {
      free -= crossed(units)
      assert(free >= 0, "more cells than there are")
      fill += units
      begun = true
    }

    /** Checks a block that MbufPlacer has handed over, and for a lost frame also its fate. */
    private def block(): Unit = {
      val b    = dut.io.blocks.payload
      val size = b.units.toInt
      val f    = frame
      b.kind.toEnum match {
        case Block.Kind.packet =>
          assert(!closing && (begun || allowed) && size == units(f.get), s"$size units for $f")
          assert(b.counting.toBoolean == pending(f.get.port) > 0)
          if (b.counting.toBoolean) assert(b.drops.toLong == pending(f.get.port))
          place(size)
          assert(fill <= mbuf - 8, "no room for the seal")
          pending(f.get.port) = 0
          records += 1
          bytes += f.get.original
        case Block.Kind.lost =>
          pending(f.get.port) += 1
          val ring = dut.io.fates.fate.toEnum == Accounts.Fate.lostRing
          assert(!lossless)
          if (ring) assert(!begun && !closing && refusedSince < 8, s"$f lost without a refusal")
          else {
            // If a record is longer than the rest of the MBUF, MbufPlacer closes the MBUF, even if
            // the record's frame is lost.
            if (fill + units(f.get) > mbuf - 8) mayClose = true
            val placed = !closing && !mayClose && crossed(units(f.get)) <= known.min
            assert(!placed, s"$f lost at $fill though $known cells are free")
          }
          lost(if (ring) 1 else 2) += 1
        case Block.Kind.filler =>
          closing = true
          assert(begun && size >= 2 && size == (512 min (mbuf - 8 - fill)), s"a filler of $size")
          place(size)
        case _ =>
          assert(
            begun && fill + size == mbuf && (size == 8 || size == 9),
            s"a seal of $size at $fill"
          )
          place(size)
          val s = b.seal
          assert(
            s.number.toBigInt == number && s.records.toBigInt == records &&
              s.bytes.toBigInt == bytes
          )
          assert(s.lostRing.toLong == lost(1) && s.lostNoCell.toLong == lost(2))
          reasons += s.reason.toEnum.position
          number += 1
          fill = 0
          begun = false
          closing = false
          mayClose = false
          allowed = r.nextInt(3) > 0
          allowedSince = 0
      }
    }

    def cycle(more: Boolean): Unit = {
      dut.clockDomain.waitSampling()
      allowedSince += 1
      if (dut.io.blocks.valid.toBoolean && dut.io.blocks.ready.toBoolean) block()
      if (dut.io.fates.valid.toBoolean && dut.io.fates.ready.toBoolean) {
        val fate = dut.io.fates.fate.toEnum.position
        assert(dut.io.frames.valid.toBoolean && dut.io.frames.ready.toBoolean)
        assert((fate == 1) == frame.get.bad && dut.io.fates.port.toInt == frame.get.port)
        assert(dut.io.fates.bytes.toInt == frame.get.original)
        fates += fate
        frame = None
      } else assert(!dut.io.frames.ready.toBoolean, "a frame without a fate")
      dut.io.blocks.ready #= r.nextInt(5) > 0
      dut.io.fates.ready #= r.nextInt(5) > 0
      val frees = free < param.cells - 1 && r.nextInt(if (r.nextInt(1000) < 3) 1000 else 90) == 0
      dut.io.freed.valid #= frees
      // MbufPlacer sees a freed cell some cycles later, so the bench keeps older values of `free`.
      known += free
      known.dequeue()
      if (frees) free += 1
      if (!allowed && r.nextInt(50) == 0) {
        allowed = true
        allowedSince = 0
      }
      // After an MBUF has ended, the input `known` is low until `allowed` is about the next MBUF.
      val isKnown = allowedSince > 2 || begun
      dut.io.known #= isKnown
      // Until then `allowed` has any value.
      dut.io.allowed #= (if (isKnown) allowed else noise.nextBoolean())
      refusedSince = if (isKnown && !allowed && !begun) 0 else refusedSince + 1
      val asks = r.nextInt(1000) == 0
      dut.io.seal.valid #= asks
      if (asks) mayClose = true
      if (frame.isEmpty && more && r.nextInt(4) > 0) {
        frame = Some(Sized(
          r.nextInt(16),
          r.nextInt(2000),
          r.nextInt(10) == 0,
          5 + r.nextInt(if (r.nextInt(5) == 0) mbuf - 15 min 1200 else 40)
        ))
        frames += 1
        drive(frame.get)
      }
      dut.io.frames.valid #= frame.nonEmpty
    }

    private def drive(f: Sized): Unit = {
      val to = dut.io.frames.payload
      to.head.port #= f.port
      to.head.original #= f.original
      to.bad #= f.bad
      to.plain #= f.plain
      to.counting #= f.plain + 2
    }
  }

  for ((mbufLog2, lossless) <- Seq((12, false), (13, false), (16, false), (12, true)))
    test(s"MBUFs of 2^$mbufLog2 bytes, lossless: $lossless, seed ${Seed.value}") {
      compiled.doSim(s"$mbufLog2$lossless", Seed.value) { dut =>
        val r     = new Random(Seed.value + mbufLog2)
        val bench = new Bench(dut, r, mbufLog2, lossless)
        dut.io.mbufLog2 #= mbufLog2
        dut.io.lossless #= lossless
        dut.io.now #= 7
        dut.io.frames.valid #= false
        for (
          signal <- Seq(
            dut.io.seal.valid,
            dut.io.stopped,
            dut.io.clear,
            dut.io.freed.valid,
            dut.io.blocks.ready,
            dut.io.fates.ready
          )
        )
          signal #= false
        dut.clockDomain.forkStimulus(10)
        dut.clockDomain.waitSampling(5)
        for (_ <- 0 until 25000) bench.cycle(more = true)
        while (bench.frame.nonEmpty) bench.cycle(more = false)
        dut.io.stopped #= true
        for (_ <- 0 until 3000) bench.cycle(more = false)
        assert(dut.io.closed.toBoolean && !bench.begun)
        assert(bench.fates.size == bench.frames)
        val counts = (0 to 3).map(fate => bench.fates.count(_ == fate))
        assert(counts(0) > 300 && counts(1) > 50, s"fates $counts")
        if (!lossless) assert(counts(2) > 20 && counts(3) > 20, s"fates $counts")
        assert(counts(2) == bench.lost(1) && counts(3) == bench.lost(2))
        assert(dut.io.lost.toBigInt == bench.lost.values.sum)
        assert(bench.reasons.count(_ == 0) > 3 && bench.reasons.contains(1), s"${bench.reasons}")
      }
    }
}
