// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._
import spinal.lib.sim.{StreamMonitor, StreamReadyRandomizer}

import lanebox.virtio.vocabulary.{EngineParam, VirtioParam}
import lanebox.vocabulary.{LaneboxSim, Seed}

/** Tests that TransmitMover gives all bytes of the driver's buffers in order, without those that it
  * skips at the begin of a chain, however late the host takes its reads and answers them.
  */
class TransmitMoverTest extends AnyFunSuite {
  val param = EngineParam(Seq(VirtioParam.console))
  val Skip  = 12

  lazy val compiled = LaneboxSim(TransmitMover(param))

  /** Returns the byte that host memory has at an address. */
  def byteAt(address: Long): Byte = ((address * 0x9e3779b1L) >> 16).toByte

  def word(address: Long): BigInt =
    (0 until 32).map(i => BigInt(byteAt(address + i) & 0xff) << (8 * i)).reduce(_ | _)

  /** The host: it takes reads with pauses, and answers them in order, each some cycles later. */
  def host(dut: TransmitMover, random: Random): Unit = {
    val asked = mutable.Queue[(Long, Int)]()
    StreamReadyRandomizer(dut.io.request, dut.clockDomain)
    StreamMonitor(dut.io.request, dut.clockDomain) { place =>
      asked += ((place.address.toBigInt.toLong, place.bytes.toInt))
    }
    fork {
      while (true) {
        dut.clockDomain.waitSampling(1 + random.nextInt(if (random.nextInt(4) == 0) 80 else 2))
        if (asked.nonEmpty) {
          val (address, bytes) = asked.dequeue()
          val start            = address & ~3L
          val beats            = ((address + bytes - start + 31) / 32).toInt
          for (beat <- 0 until beats) {
            dut.io.data.valid #= true
            dut.io.data.last #= beat == beats - 1
            dut.io.data.data #= word(start + 32 * beat)
            dut.clockDomain.waitSampling()
            dut.io.data.valid #= false
            if (random.nextInt(3) == 0) dut.clockDomain.waitSampling(random.nextInt(4))
          }
        }
      }
    }
  }

  test(s"the bytes of random chains come in order and once, seed ${Seed.value}") {
    compiled.doSim("random", Seed.value) { dut =>
      import dut.io
      SimTimeout(10000000)
      val random      = new Random(Seed.value)
      val expected    = mutable.Queue[Byte]()
      var moved, done = 0
      io.buffer.valid #= false
      io.data.valid #= false
      io.data.failed #= false
      io.ends #= false
      io.free #= param.rows
      io.skip #= Skip
      dut.clockDomain.forkStimulus(10)
      dut.clockDomain.waitSampling(3)
      host(dut, random)
      dut.clockDomain.onSamplings {
        if (io.piece.valid.toBoolean) {
          val (data, start) = (io.piece.data.toBigInt, io.piece.start.toInt)
          for (i <- start until start + io.piece.bytes.toInt)
            assert((data >> (8 * i)).toByte == expected.dequeue())
        }
        assert(!io.failed.toBoolean && !io.lacks.toBoolean && !io.dropped.valid.toBoolean)
        if (io.moved.valid.toBoolean) moved += 1
        if (io.done.toBoolean) done += 1
      }

      def offer(bytes: Int, skip: Int, alone: Boolean): Unit = {
        val address = 0x100000L + random.nextInt(1 << 20)
        expected ++= (skip min bytes until bytes).map(i => byteAt(address + i))
        io.buffer.address #= address
        io.buffer.bytes #= bytes
        io.alone #= alone
        io.buffer.valid #= true
        dut.clockDomain.waitSamplingWhere(io.buffer.ready.toBoolean)
        io.buffer.valid #= false
      }

      /** Gives chains of one small buffer each, without waiting for their data. */
      def plain(count: Int): Unit = {
        val before = done
        for (_ <- 0 until count)
          offer(VirtioParam.PlainLeast + random.nextInt(1000), Skip, alone = true)
        dut.clockDomain.waitSamplingWhere(done == before + count && io.quiet.toBoolean)
      }

      /** Gives a chain of several buffers, of which the mover takes one at a time. */
      def chain(sizes: Seq[Int]): Unit = {
        var skip = Skip
        for (bytes <- sizes) {
          val before = moved
          offer(bytes, skip, alone = false)
          skip -= skip min bytes
          dut.clockDomain.waitSamplingWhere(moved == before + 1)
        }
        io.ends #= true
        dut.clockDomain.waitSampling()
        io.ends #= false
        dut.clockDomain.waitSampling()
      }

      for (_ <- 0 until 60) {
        if (random.nextBoolean()) plain(1 + random.nextInt(6))
        else chain(Seq.fill(1 + random.nextInt(4))(1 + random.nextInt(if (random.nextBoolean()) 20
        else 900)))
        assert(expected.isEmpty && io.reserved.toInt == 0)
      }
    }
  }
}
