// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.port

import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.capture.{FrameDriver, TestFrame}
import lanebox.vocabulary.{LaneboxSim, Numbers, Seed}

/** Tests that Echo answers the frames that it should, with the right bytes and checksums, and no
  * others, at a beat a cycle.
  */
class EchoTest extends AnyFunSuite {
  lazy val compiled = LaneboxSim(Echo())

  type Bytes = IndexedSeq[Byte]
  def hex(text: String): Bytes = text.grouped(2).map(Integer.parseInt(_, 16).toByte).toIndexedSeq
  def noise(r: Random, size: Int): Bytes = IndexedSeq.fill(size)(r.nextInt().toByte)
  val own                                = hex(f"${Numbers.EchoMac}%012x")

  /** The sum of 16-bit words that the checksums of IP complement. */
  def sum(data: Bytes): Int = {
    var s = data.padTo(data.size + data.size % 2, 0.toByte).grouped(2)
      .map(w => (w(0) & 0xff) << 8 | w(1) & 0xff).sum
    while (s > 0xffff) s = (s & 0xffff) + (s >> 16)
    s
  }
  def checksum(data: Bytes): Bytes = hex(f"${~sum(data) & 0xffff}%04x")

  def mac(r: Random): Bytes = (r.nextInt(128) * 2).toByte +: noise(r, 5)
  def ip(r: Random, kind: Int, fragment: Int, inner: Bytes): Bytes = {
    val head = hex("4500") ++ hex(f"${20 + inner.size}%04x") ++ noise(r, 2) ++
      hex(f"$fragment%04x") ++ hex(f"40$kind%02x")
    val ends = noise(r, 8)
    mac(r) ++ mac(r) ++ hex("0800") ++ head ++ checksum(head ++ ends) ++ ends ++ inner
  }
  def icmp(r: Random, kind: Int, size: Int): Bytes = {
    val (start, rest) = (hex(f"$kind%02x00"), noise(r, 4 + size))
    start ++ checksum(start ++ rest) ++ rest
  }
  def arp(r: Random, from: Bytes, to: Bytes): Bytes =
    hex("ffffffffffff") ++ mac(r) ++ hex("08060001080006040001") ++ mac(r) ++ from ++ hex(
      "000000000000"
    ) ++ to ++ noise(r, r.nextInt(30))

  def random(r: Random): Bytes = r.nextInt(12) match {
    case 0     => arp(r, noise(r, 4), noise(r, 4))
    case 1     => noise(r, 4) match { case a => arp(r, a, a) }
    case 2     => arp(r, hex("00000000"), noise(r, 4))
    case 3 | 4 => ip(r, 1, 0x4000, icmp(r, 8, r.nextInt(1400)))
    case 5     => ip(r, 1, 0, icmp(r, r.nextInt(20), r.nextInt(100)))
    case 6     => ip(r, 1, 0x2000, icmp(r, 8, 200)) // The first fragment of a datagram.
    case 7     => ip(r, if (r.nextBoolean()) 1 else 17, 1 + r.nextInt(0x1fff), noise(r, 100))
    case 8 | 9 => ip(r, 17, 0, noise(r, 8 + r.nextInt(1400)))
    case 10    => noise(r, 1 + r.nextInt(200))
    case _ => // A byte of a frame is wrong.
      val frame = random(r)
      frame.updated(r.nextInt(42 min frame.size), r.nextInt().toByte)
  }

  /** Returns the answer that the echo must give to a frame, or None. */
  def answer(f: Bytes): Option[Bytes] = {
    def at(n: Int, size: Int): Bytes = f.slice(n, n + size)
    def word(n: Int): Int            = (f(n) & 0xff) << 8 | f(n + 1) & 0xff
    if (f.size < 42) None
    else if (at(12, 10) == hex("08060001080006040001")) {
      val (from, to) = (at(28, 4), at(38, 4))
      if (from == hex("00000000") || from == to) None
      else
        Some(
          at(6, 6) ++ own ++ at(12, 8) ++ hex("0002") ++ own ++ to ++ at(22, 6) ++ from ++
            f.drop(42)
        )
    } else if (at(12, 3) == hex("080045") && (f(0) & 1) == 0) {
      val later  = (word(20) & 0x1fff) != 0
      val turned = at(6, 6) ++ at(0, 6) ++ at(12, 14) ++ at(30, 4) ++ at(26, 4)
      f(23) match {
        case 1 | 17 if later => Some(turned ++ f.drop(34))
        case 17              => Some(turned ++ at(36, 2) ++ at(34, 2) ++ f.drop(38))
        case 1 if f(34) == 8 =>
          val c = word(36) + 0x0800
          Some(turned ++ hex(f"00${f(35) & 0xff}%02x${(c & 0xffff) + (c >> 16)}%04x") ++ f.drop(38))
        case _ => None
      }
    } else None
  }

  class Bench(dut: Echo, r: Random, stalls: Double) {
    val input           = mutable.Queue[TestFrame]()
    val answers         = mutable.ArrayBuffer[Bytes]()
    var cycles          = 0 // Cycles from the first beat of an answer to the last one.
    private val beats   = mutable.ArrayBuffer[Byte]()
    private var offered = Option.empty[BigInt]
    dut.io.sink.valid #= false
    dut.io.source.ready #= false
    dut.clockDomain.forkStimulus(10)
    dut.clockDomain.waitSampling(3)
    val driver = new FrameDriver(dut.io.sink, r)(
      if (input.isEmpty) None else Some(input.dequeue())
    )
    driver.pauses = stalls
    dut.clockDomain.onSamplings {
      val source = dut.io.source
      if (answers.nonEmpty || beats.nonEmpty) cycles += 1
      for (data <- offered)
        assert(source.valid.toBoolean && source.data.toBigInt == data, "a beat was taken back")
      offered =
        if (source.valid.toBoolean && !source.ready.toBoolean) Some(source.data.toBigInt) else None
      if (source.valid.toBoolean && source.ready.toBoolean) {
        val last = source.last.toBoolean
        beats ++= TestFrame
          .bytes(source.data.toBigInt, if (last) (source.bytes.toInt + 31) % 32 + 1 else 32)
        if (last) {
          answers += beats.toIndexedSeq
          beats.clear()
        }
      }
      source.ready #= r.nextDouble() >= stalls
      driver.cycle()
    }
    def finish(): Unit = {
      while (input.nonEmpty || !driver.idle || dut.io.busy.toBoolean) dut.clockDomain.waitSampling()
      dut.clockDomain.waitSampling(5)
    }
  }

  for (stalls <- Seq(0, 0.4))
    test(s"random frames are answered as they should be, stalls $stalls, seed ${Seed.value}") {
      compiled.doSim(s"random$stalls", Seed.value) { dut =>
        val r      = new Random(Seed.value)
        val bench  = new Bench(dut, r, stalls)
        val frames = Seq.fill(1500)(TestFrame(0, 0, 0, random(r), error = r.nextInt(20) == 0))
        bench.input ++= frames
        bench.finish()
        val expected = frames.filterNot(_.error).flatMap(f => answer(f.data))
        assert(expected.size > 700 && bench.answers.size == expected.size)
        for ((got, wanted) <- bench.answers.zip(expected)) assert(got == wanted)
      }
    }

  test(s"the checksum of an answered ping is right, seed ${Seed.value}") {
    compiled.doSim("checksum", Seed.value) { dut =>
      val r      = new Random(Seed.value)
      val bench  = new Bench(dut, r, 0)
      val frames = Seq.fill(300)(ip(r, 1, 0, icmp(r, 8, r.nextInt(90))))
      bench.input ++= frames.map(TestFrame(0, 0, 0, _))
      bench.finish()
      assert(bench.answers.size == frames.size)
      for (f <- bench.answers) assert(sum(f.drop(34)) == 0xffff && sum(f.slice(14, 34)) == 0xffff)
    }
  }

  test("frames of 64 bytes are answered at a beat a cycle") {
    compiled.doSim("rate", Seed.value) { dut =>
      val r     = new Random(Seed.value)
      val bench = new Bench(dut, r, 0)
      bench.input ++= Seq.fill(200)(TestFrame(0, 0, 0, ip(r, 17, 0, noise(r, 30))))
      bench.finish()
      assert(bench.answers.size == 200)
      assert(bench.cycles <= 2 * 200 + 20, s"${bench.cycles} cycles for 200 frames of two beats")
    }
  }
}
