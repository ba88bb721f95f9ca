// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.generator

import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.capture.{GeneratedFrame, TestFrame}
import lanebox.vocabulary.{LaneboxSim, Seed}

/** Tests Generator, the card's source of test frames: its frames have the bytes that GeneratedFrame
  * computes, and come at the rate that was asked for.
  */
class GeneratorTest extends AnyFunSuite {
  lazy val compiled = LaneboxSim(Generator())

  case class Made(at: Long, port: Int, time: Long, data: IndexedSeq[Byte])

  /** The frames of a mix that are not small: index among the 12 frames, then 1 (middle) or 2
    * (large).
    */
  val Places = Map(1 -> 1, 4 -> 1, 8 -> 1, 11 -> 1, 6 -> 2)

  /** Runs the generator. `sizes` and `periods` are those of the small, middle and large frames;
    * with one of each there is no mix.
    */
  def run(
      name: String,
      sizes: Seq[Int],
      periods: Seq[Int],
      count: Int,
      mask: Int = 0,
      pauses: Double = 0
  )(
      check: Seq[Made] => Unit
  ): Unit = compiled.doSim(name, Seed.value) { dut =>
    val r     = new Random(Seed.value + sizes.head)
    val seed  = r.nextInt()
    val made  = mutable.ArrayBuffer[Made]()
    val bytes = mutable.ArrayBuffer[Byte]()
    dut.io.run #= false
    dut.io.mix #= sizes.size > 1
    for ((kind, i) <- Seq(dut.io.small, dut.io.middle, dut.io.large).zipWithIndex) {
      // Without a mix the larger frames may have any settings.
      kind.size #= (if (i < sizes.size) sizes(i) else 1 + r.nextInt(16000))
      kind.period #= (if (i < periods.size) periods(i) else r.nextInt(1 << 24))
    }
    def sizeOf(n: Int): Int = sizes(if (sizes.size > 1) Places.getOrElse(n % 12, 0) else 0)
    dut.io.count #= count
    dut.io.seed #= seed & 0xffffffffL
    dut.io.portMask #= mask
    dut.io.frames.ready #= false
    dut.clockDomain.forkStimulus(10)
    dut.clockDomain.waitSampling(5)
    dut.io.run #= true
    var now, begun = 0L
    var port, time = 0L
    val idles      = 2 * periods.max / 256 + 50
    var quiet      = 0
    while (quiet < idles) {
      dut.clockDomain.waitSampling()
      dut.io.now #= now
      now += 1
      quiet += 1
      val frames = dut.io.frames
      val size   = sizeOf(made.size)
      if (frames.valid.toBoolean && frames.ready.toBoolean) {
        quiet = 0
        if (bytes.isEmpty) {
          begun = now
          port = frames.head.port.toInt
          time = frames.head.time.toBigInt.toLong
          assert(frames.head.kept.toInt == size && frames.head.original.toInt == size)
          assert(frames.head.flags.toLong == 0 && !frames.error.toBoolean)
        }
        bytes ++= TestFrame.bytes(frames.data.toBigInt)
        assert(frames.last.toBoolean == (bytes.size >= size))
        if (frames.last.toBoolean) {
          assert(frames.bytes.toInt == size % 32)
          made += Made(begun, port.toInt, time, bytes.take(size).toIndexedSeq)
          bytes.clear()
        }
      }
      frames.ready #= r.nextDouble() >= pauses
    }
    assert(made.size == count && dut.io.made.toLong == count && dut.io.idle.toBoolean)
    for ((frame, n) <- made.zipWithIndex) {
      val size = sizeOf(n)
      assert(frame.data == GeneratedFrame.data(seed, n, n & mask, size), s"frame $n of $size bytes")
      assert(frame.port == (n & mask) && frame.time <= frame.at)
    }
    check(made.toSeq)
  }

  test(s"every frame can be computed from seed and number, seed ${Seed.value}") {
    for ((size, i) <- Seq(1, 13, 24, 31, 32, 33, 60, 64, 65, 1514, 9216).zipWithIndex)
      run(s"data$size", Seq(size), Seq(0), 20, mask = i % 4 * 5, pauses = 0.3)(_ => ())
  }

  test(s"a mix has 7 small frames, 4 middle ones and a large one, seed ${Seed.value}") {
    for ((sizes, i) <- Seq(Seq(60, 590, 1514), Seq(1, 32, 33), Seq(9216, 20, 64)).zipWithIndex)
      run(s"mix$i", sizes, Seq(0, 0, 0), 40, mask = 3, pauses = 0.3)(_ => ())
  }

  test("in a mix each frame is followed after its own period") {
    val periods = Seq(1075, 7859, 19686)
    run("mixed", Seq(60, 590, 1514), periods, 1201, mask = 3) { made =>
      val taken = (made.last.at - made.head.at).toDouble / 100
      val want  = (7 * periods(0) + 4 * periods(1) + periods(2)) / 256.0
      assert((taken - want).abs < 0.05, s"cycles for 12 frames, and not $want")
      for ((pair, n) <- made.sliding(2).zipWithIndex) {
        val cycles = pair(1).time - pair(0).time
        val period = periods(Places.getOrElse(n % 12, 0)) / 256.0
        assert((cycles - period).abs < 1.01, s"$cycles cycles behind frame $n, and not $period")
      }
    }
  }

  test("frames come in B + 1 cycles without a period, and in the period with one") {
    for (
      (size, period, cycles) <-
        Seq((60, 0, 3.0), (1514, 0, 49.0), (60, 1075, 4.2), (60, 2560, 10.0))
    )
      run(s"rate$size,$period", Seq(size), Seq(period), 300) { made =>
        val taken = (made.last.at - made.head.at).toDouble / (made.size - 1)
        assert((taken - cycles).abs < 0.02, s"cycles for $size bytes, period $period")
      }
  }
}
