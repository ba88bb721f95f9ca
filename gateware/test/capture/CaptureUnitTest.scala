// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture

import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable
import scala.language.reflectiveCalls
import spinal.core._
import spinal.core.sim._

import lanebox.capture.player.{PlayerModel, PlayerPace}
import lanebox.capture.vocabulary.CaptureParam
import lanebox.vocabulary.{Frames, LaneboxSim, Seed}

/** Tests that all sources of CaptureUnit give frames the clock's time, which software may set, and
  * that the merge orders played frames by that time.
  *
  * The setting `run` is off, so frames leave FrameSources and are dropped behind it.
  */
class CaptureUnitTest extends AnyFunSuite {
  lazy val compiled = LaneboxSim {
    val dut = CaptureUnit(CaptureParam(cells = 8, segments = 2), fromSlot = true)
    dut.sources.io.output.simPublic()
    dut
  }
  // The clock, which software has set, is this many ns ahead of device time.
  val Lead   = 1L << 60
  val Played = 9 // The port of the player's frames.
  val Slot   = Frames.Ports - 1

  /** A frame's port and time, and the clock's time when the frame's first beat leaves. */
  case class Left(port: Int, time: Long, at: Long)

  class Bench(dut: CaptureUnit) {
    val left          = mutable.ArrayBuffer[Left]()
    private val beats = mutable.Queue[BigInt]() // Of the stream to the player.
    private var now   = 1000L
    private var first = true
    var slotSends = false // A packet of one beat comes whenever the slot's store has room.

    for (each <- dut.io.flatten if each.isInput) each match {
      case bool: Bool      => bool #= false
      case word: BitVector => word #= BigInt(0)
      case _               =>
    }
    dut.io.player.settings.pace.mode #= PlayerPace.Mode.fast
    dut.io.player.settings.fixedPort #= true
    dut.io.player.settings.port #= Played
    dut.io.request.ready #= true
    dut.io.slot.last #= true
    dut.clockDomain.forkStimulus(10)
    cycles(10)

    def cycles(count: Int): Unit = for (_ <- 0 until count) {
      dut.clockDomain.waitSampling()
      val (output, stream) = (dut.sources.io.output, dut.io.stream)
      if (output.valid.toBoolean && output.ready.toBoolean) {
        if (first)
          left += Left(output.head.port.toInt, output.head.time.toBigInt.toLong, now + Lead)
        first = output.last.toBoolean
      }
      if (stream.valid.toBoolean && stream.ready.toBoolean) beats.dequeue()
      now += 4
      dut.io.now #= now
      dut.io.clock #= now + Lead
      stream.valid #= beats.nonEmpty
      beats.headOption.foreach(stream.data #= _)
      dut.io.slot.valid #= slotSends
    }

    def generate(): Unit = {
      val generator = dut.io.generator
      for (kind <- Seq(generator.small, generator.middle, generator.large)) {
        kind.size #= 60
        kind.period #= 100 << 8
      }
      generator.count #= 1000
      generator.run #= true
    }

    /** Lets the player send `count` packets, whose recorded times are beyond the clock's. */
    def play(count: Int, keepTime: Boolean): Unit = {
      val packets = Seq.tabulate(count) { n =>
        PlayerModel.packet(TestFrame(2 * Lead + n, 0, 60, IndexedSeq.fill(60)(n.toByte)))
      }
      val bytes = PlayerModel.padded((PlayerModel.section() +: packets).toArray.flatten)
      beats ++= bytes.grouped(32).map(part => TestFrame.bits(part.toIndexedSeq))
      dut.io.player.settings.keepTime #= keepTime
      dut.io.player.run #= true
    }
  }

  private def run(name: String)(body: Bench => Unit): Unit =
    compiled.doSim(name, Seed.value)(dut => body(new Bench(dut)))

  test("frames of all sources have the time of the clock that was set") {
    run("times") { bench =>
      bench.generate()
      bench.slotSends = true
      bench.play(20, keepTime = false)
      bench.cycles(4000)
      assert(bench.left.map(_.port).toSet == Set(0, Played, Slot))
      for (frame <- bench.left)
        assert(frame.at >= frame.time && frame.at < frame.time + 1000, frame)
    }
  }

  test("recorded times of played frames do not hold them up") {
    run("kept") { bench =>
      bench.slotSends = true
      bench.play(20, keepTime = true)
      bench.cycles(4000)
      val played = bench.left.filter(_.port == Played)
      assert(played.map(_.time) == Seq.tabulate(20)(2 * Lead + _))
      assert(bench.left.count(_.port == Slot) > 1000)
    }
  }
}
