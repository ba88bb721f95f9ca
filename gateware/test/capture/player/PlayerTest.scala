// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.player

import org.scalatest.funsuite.AnyFunSuite
import scala.util.Random

import lanebox.capture.TestFrame
import lanebox.vocabulary.{LaneboxSim, Seed}
import spinal.core.sim._

/** The player makes each packet of a pcapng stream a frame, byte for byte, or says why not. */
class PlayerTest extends AnyFunSuite {
  import PlayerModel._

  lazy val compiled = LaneboxSim(Player())

  def run(name: String, salt: Int = 0)(body: PlayerBench => Unit): Unit =
    compiled.doSim(name, Seed.value + salt) { dut =>
      val bench = new PlayerBench(dut, new Random(Seed.value + salt))
      bench.reset()
      body(bench)
    }

  def blocks(r: Random, count: Int, largest: Int = 1600): Array[Byte] =
    Array.tabulate(count)(i => anyBlock(r, 1000L * i, largest)).flatten

  for (((stream, frame), i) <- Seq((0.0, 0.0), (0.5, 0.0), (0.0, 0.7), (0.4, 0.4)).zipWithIndex)
    test(s"every packet becomes a frame, stalls $stream and $frame, seed ${Seed.value}") {
      run(s"blocks$i", i) { bench =>
        bench.streamPauses = stream
        bench.framePauses = frame
        for (round <- 0 until 3) {
          val bytes = padded(section() ++ blocks(bench.random, 200, if (round == 2) 9000 else 300))
          bench.begin()
          bench.offer(bytes)
          bench.drain()
          assert(bench.check(bytes).frames.size > 80)
        }
      }
    }

  test(s"every length at every lane, and no beat behind the last, seed ${Seed.value}") {
    run("lengths") { bench =>
      for (lane <- 0 until 8) {
        val shift = if (lane == 0) Array[Byte]() else block(1, new Array[Byte](4 * lane + 20))
        val bytes = shift ++ (0 to 130).toArray.flatMap { size =>
          packet(TestFrame(size, 1, size, IndexedSeq.tabulate(size)(i => (i + size).toByte)))
        }
        bench.begin()
        bench.offer(padded(bytes))
        bench.drain()
        bench.check(padded(bytes))
      }
    }
  }

  /** A fault: `change` breaks one block of a stream, and the player must report the number `error`.
    */
  case class Fault(name: String, error: Int, change: (Array[Byte], Random) => Array[Byte])
  def put(at: Int, value: Int)(block: Array[Byte]): Array[Byte] = {
    val copy = block.clone()
    buffer(copy).putInt(if (at < 0) copy.length + at else at, value)
    copy
  }
  val faults = Seq(
    Fault("no multiple of 4", Length, (b, r) => put(4, b.length + 1 + r.nextInt(3))(b)),
    Fault("a length of 0", Length, (b, _) => put(4, 0)(b)),
    Fault("a length of 8", Length, (b, _) => put(4, 8)(b)),
    Fault("16 MiB", Long, (b, r) => put(4, 1 << (24 + r.nextInt(8)))(b)),
    Fault(
      "another length at the end",
      Lengths,
      (b, r) => put(-4, b.length ^ (1 << r.nextInt(32)))(b)
    ),
    Fault("a big-endian section", Endian, (_, _) => section(0x4d3c2b1a)),
    Fault("a section of no endianness", Section, (_, r) => section(r.nextInt())),
    Fault("4 bytes too many", Packet, (b, _) => put(20, b.length - 31)(b)),
    Fault("a packet of 16 KiB", Large, (b, r) => put(20, 1 << (14 + r.nextInt(18)))(b)),
    Fault("a packet that had 64 KiB", Large, (b, r) => put(24, 1 << (16 + r.nextInt(16)))(b)),
    Fault("no such port", Port, (b, r) => put(8, 1 << (4 + r.nextInt(28)))(b))
  )

  for ((fault, i) <- faults.zipWithIndex)
    test(s"${fault.name} stops the player behind the last good frame, seed ${Seed.value}") {
      run(s"fault$i", i) { bench =>
        val r = bench.random
        bench.streamPauses = r.nextInt(2) * 0.3
        bench.framePauses = r.nextInt(2) * 0.5
        for (_ <- 0 until 6) {
          val whole  = packet(TestFrame(5, 2, 60, IndexedSeq.fill(40 + r.nextInt(200))(7.toByte)))
          val before = section() ++ blocks(r, r.nextInt(20))
          val bytes  = padded(before ++ fault.change(whole, r) ++ blocks(r, 30))
          bench.begin()
          bench.offer(bytes)
          bench.drain()
          assert(bench.check(bytes).error == fault.error)
        }
        // A player that was stopped plays again.
        val bytes = padded(blocks(r, 50))
        bench.begin()
        bench.offer(bytes)
        bench.drain()
        bench.check(bytes)
      }
    }

  test(s"a stream that ends inside a block leaves no part of a frame, seed ${Seed.value}") {
    run("cut") { bench =>
      for (_ <- 0 until 30) {
        val bytes = blocks(bench.random, 20)
        val cut   = bytes.take(32 * (1 + bench.random.nextInt(bytes.length / 32)))
        bench.begin()
        bench.offer(cut)
        bench.drain()
        bench.check(cut)
      }
    }
  }

  test("bytes that the host failed to give stop the player") {
    run("failed") { bench =>
      val bytes = padded(blocks(bench.random, 40))
      bench.begin()
      bench.offer(bytes, failing = bytes.length / 64)
      bench.drain()
      val wanted = PlayerModel.play(bytes).frames
      assert(bench.frames.map(_._1) == wanted.take(bench.frames.size))
      assert(bench.frames.size < wanted.size && bench.dutError == Stream)
    }
  }

  for ((size, beats) <- Seq(60 -> 3, 65 -> 4, 96 -> 4, 1514 -> 49))
    test(s"packets of $size bytes come in the $beats cycles of their blocks") {
      run(s"rate$size") { bench =>
        val frame = TestFrame(0, 0, size, IndexedSeq.fill(size)(1.toByte))
        val more  = new Array[Byte](if ((size + 3) / 4 % 2 == 0) 0 else 4)
        val bytes = padded(Array.fill(400)(packet(frame, more)).flatten)
        bench.begin()
        bench.offer(bytes)
        bench.drain()
        val times  = bench.frames.map(_._2)
        val cycles = (times.last - times(20)) / 4.0 / (times.size - 21)
        assert(times.size == 400 && cycles < beats * 1.02, s"$cycles cycles")
      }
    }

  test(s"frames come at their recorded distances, seed ${Seed.value}") {
    run("recorded") { bench =>
      val gaps =
        Seq.fill(100)(400L + bench.random.nextInt(if (bench.random.nextInt(5) == 0) 5000 else 999))
      val times = gaps.scanLeft(BigInt("17a0000000000000", 16).toLong)(_ + _)
      val bytes =
        padded(times.toArray.flatMap(time => packet(TestFrame.random(bench.random, time, 700))))
      bench.settle(mode = PlayerPace.Mode.recorded)
      bench.begin()
      bench.offer(bytes)
      bench.drain(idle = 6000, most = 2000000)
      bench.check(bytes)
      val begun = bench.frames.map(_._2)
      for ((at, time) <- begun.zip(times)) {
        val late = (at - begun.head) - (time - times.head)
        assert(late >= 0 && late < 4, s"$late ns late")
      }
    }
  }

  test("a recorded time before the first one does not stop the player") {
    run("earlier") { bench =>
      val bytes = padded(Array(1000000L, 999000L, 0L, 1000400L).flatMap { time =>
        packet(TestFrame(time, 0, 60, IndexedSeq.fill(60)(1.toByte)))
      })
      bench.settle(mode = PlayerPace.Mode.recorded)
      bench.begin()
      bench.offer(bytes)
      bench.drain(idle = 1000)
      bench.check(bytes)
      val begun = bench.frames.map(_._2)
      assert(begun(2) - begun(0) < 100 && (begun(3) - begun(0) - 400).abs < 12)
    }
  }

  for (
    (name, size, rate, overhead, least, perPacket, cycles) <- Seq(
      ("64 B at 40 Gb/s", 60, 20.0, 24, 60, false, 4.2),
      ("short frames are padded on a line", 20, 20.0, 24, 60, false, 4.2),
      ("1518 B at 10 Gb/s", 1514, 5.0, 24, 60, false, 307.6),
      ("a packet every 12.5 cycles", 200, 0.08, 1, 0, true, 12.5)
    )
  )
    test(s"the rate is that of the setting: $name") {
      run(name) { bench =>
        val frame = TestFrame(0, 0, size, IndexedSeq.fill(size)(1.toByte))
        val bytes = padded(Array.fill(250)(packet(frame)).flatten)
        val fixed = (rate * 65536).round.toInt
        bench.settle(PlayerPace.Mode.rate, fixed, overhead, least, perPacket)
        bench.begin()
        bench.run(2000) // What was not sent before the first frame is not made up for.
        bench.offer(bytes)
        bench.drain(idle = 1000, most = 400000)
        bench.check(bytes)
        val times = bench.frames.map(_._2)
        val taken = (times.last - times.head) / 4.0 / (times.size - 1)
        assert((taken - cycles).abs < 0.01 * cycles, s"$taken cycles")
      }
    }

  test("a frame has the clock's time of its first beat, and the port of the setting") {
    run("stamps") { bench =>
      val bytes = padded(blocks(bench.random, 60))
      bench.settle(port = Some(11), keepTime = false)
      bench.begin()
      bench.offer(bytes)
      bench.drain()
      val wanted = PlayerModel.play(bytes, Some(11)).frames
      assert(bench.frames.size == wanted.size)
      for (((frame, at), model) <- bench.frames.zip(wanted)) {
        assert(frame == model.copy(time = frame.time))
        val late = at + PlayerBench.ClockLead - frame.time
        assert(late == 4 || late == 8, s"$late ns")
      }
    }
  }

  test(s"a player that is stopped ends with a whole frame, and begins anew, seed ${Seed.value}") {
    run("stopped") { bench =>
      bench.framePauses = 0.3
      for (_ <- 0 until 20) {
        val bytes = padded(blocks(bench.random, 100))
        bench.begin()
        bench.offer(bytes)
        bench.run(300 + bench.random.nextInt(300))
        bench.stop()
        bench.run(500)
        val wanted = PlayerModel.play(bytes).frames
        assert(bench.frames.nonEmpty && bench.frames.map(_._1) == wanted.take(bench.frames.size))
      }
    }
  }
}
