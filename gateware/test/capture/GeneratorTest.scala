// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture

import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.vocabulary.{LaneboxSim, Seed}

/** Tests Generator, the card's source of test frames: its frames have the bytes that GeneratedFrame
  * computes, and come at the rate that was asked for.
  */
class GeneratorTest extends AnyFunSuite {
  lazy val compiled = LaneboxSim(Generator())

  case class Made(at: Long, port: Int, time: Long, data: IndexedSeq[Byte])

  def run(name: String, size: Int, period: Int, count: Int, mask: Int = 0, pauses: Double = 0)(
      check: (Int, Seq[Made]) => Unit
  ): Unit = compiled.doSim(name, Seed.value) { dut =>
    val r     = new Random(Seed.value + size)
    val seed  = r.nextInt()
    val made  = mutable.ArrayBuffer[Made]()
    val bytes = mutable.ArrayBuffer[Byte]()
    dut.io.run #= false
    dut.io.size #= size
    dut.io.period #= period
    dut.io.count #= count
    dut.io.seed #= seed & 0xffffffffL
    dut.io.portMask #= mask
    dut.io.frames.ready #= false
    dut.clockDomain.forkStimulus(10)
    dut.clockDomain.waitSampling(5)
    dut.io.run #= true
    var now, begun = 0L
    var port, time = 0L
    val idles      = 2 * period / 256 + 50
    var quiet      = 0
    while (quiet < idles) {
      dut.clockDomain.waitSampling()
      dut.io.now #= now
      now += 1
      quiet += 1
      val frames = dut.io.frames
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
      assert(frame.data == GeneratedFrame.data(seed, n, n & mask, size), s"frame $n of $size bytes")
      assert(frame.port == (n & mask) && frame.time <= frame.at)
    }
    check(seed, made.toSeq)
  }

  test(s"every frame can be computed from seed and number, seed ${Seed.value}") {
    for ((size, i) <- Seq(1, 13, 24, 31, 32, 33, 60, 64, 65, 1514, 9216).zipWithIndex)
      run(s"data$size", size, 0, 20, mask = i % 4 * 5, pauses = 0.3)((_, _) => ())
  }

  test("frames come in B + 1 cycles without a period, and in the period with one") {
    for (
      (size, period, cycles) <-
        Seq((60, 0, 3.0), (1514, 0, 49.0), (60, 1075, 4.2), (60, 2560, 10.0))
    )
      run(s"rate$size,$period", size, period, 300) { (_, made) =>
        val taken = (made.last.at - made.head.at).toDouble / (made.size - 1)
        assert((taken - cycles).abs < 0.02, s"cycles for $size bytes, period $period")
      }
  }
}
