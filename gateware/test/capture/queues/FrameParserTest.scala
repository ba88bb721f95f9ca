// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.queues

import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.capture.{FrameDriver, TestFrame}
import lanebox.vocabulary.{LaneboxSim, Seed}

/** Tests that the parser finds the headers of each frame, whatever bytes it has, and that its
  * results come in the order of the frames.
  */
class FrameParserTest extends AnyFunSuite {
  lazy val compiled = LaneboxSim(ParserDut())

  private def bytes(value: BigInt, first: Int): Seq[Int] =
    (0 until first).map(i => (value >> (120 - 8 * i)).toInt & 0xff)

  private def found(key: FlowKey): FlowModel = {
    val version = if (key.ipv4.toBoolean) 4 else if (key.ipv6.toBoolean) 6 else 0
    val size    = version match { case 4 => 4; case 6 => 16; case _ => 0 }
    FlowModel(
      key.port.toInt,
      key.length.toInt,
      key.etherType.toInt,
      Option.when(key.tagged.toBoolean)(key.vlan.toInt),
      version,
      key.fragment.toBoolean,
      key.protocol.toInt,
      bytes(key.source.toBigInt, size),
      bytes(key.destination.toBigInt, size),
      Option.when(key.hasPorts.toBoolean)((key.sourcePort.toInt, key.destinationPort.toInt)),
      key.tcpFlags.toInt
    )
  }

  for (pauses <- Seq(0.0, 0.4))
    test(s"random frames, pauses $pauses, seed ${Seed.value}") {
      compiled.doSim(s"random$pauses", Seed.value) { dut =>
        val r       = new Random(Seed.value)
        val waiting = mutable.Queue[TestFrame]()
        var made    = 0
        val seen    = mutable.Set[String]()
        val driver = new FrameDriver(dut.io.frames, r)({
          made += 1
          Option.when(made <= 4000)(FlowFrames(r, made))
        })
        driver.pauses = pauses
        driver.begun = frame => waiting += frame
        dut.io.frames.valid #= false
        dut.io.key.ready #= false
        dut.clockDomain.forkStimulus(10)
        dut.clockDomain.waitSampling(5)
        var quiet = 0
        while (quiet < 100) {
          dut.clockDomain.waitSampling()
          if (dut.io.key.valid.toBoolean && dut.io.key.ready.toBoolean) {
            val frame = waiting.dequeue()
            val want  = FlowModel(frame.data, frame.port, frame.original)
            val got   = found(dut.io.key.payload)
            assert(got == want, frame.data.map(byte => f"$byte%02x").mkString(" "))
            seen += s"${want.version} ${want.protocol} ${want.ports.nonEmpty} ${want.fragment}"
          }
          driver.cycle()
          dut.io.key.ready #= r.nextDouble() >= pauses
          quiet = if (driver.idle && waiting.isEmpty) quiet + 1 else 0
        }
        assert(made > 4000 && seen.size > 30, s"only $seen")
      }
    }

  test("a frame of 64 bytes takes three cycles") {
    compiled.doSim("rate", Seed.value) { dut =>
      val r      = new Random(Seed.value)
      val plain  = IndexedSeq.fill(12)(0) ++ Seq(8, 0, 0x45) ++ Seq.fill(8)(0) ++ Seq(17)
      val data   = plain.padTo(64, 0).map(_.toByte)
      var keys   = 0
      val driver = new FrameDriver(dut.io.frames, r)(Some(TestFrame(0, 0, 64, data)))
      dut.io.frames.valid #= false
      dut.io.key.ready #= true
      dut.clockDomain.forkStimulus(10)
      dut.clockDomain.waitSampling(5)
      for (_ <- 0 until 3000) {
        dut.clockDomain.waitSampling()
        if (dut.io.key.valid.toBoolean) keys += 1
        driver.cycle()
      }
      assert(keys > 990, s"$keys frames in 3000 cycles")
    }
  }
}
