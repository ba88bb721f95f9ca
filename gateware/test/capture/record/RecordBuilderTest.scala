// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.record

import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.capture.{Pcapng, TestFrame}
import lanebox.vocabulary.{LaneboxSim, Seed}

/** Tests that RecordBuilder makes pcapng blocks with exactly the bytes that the format demands, in
  * as many cycles as the blocks' bytes need beats.
  */
class RecordBuilderTest extends AnyFunSuite {
  lazy val compiled = LaneboxSim(RecordBuilder())

  /** A block that RecordBuilder must build: the frame whose data the block consumes, if any, and
    * the bytes that the block must have.
    */
  case class Job(
      kind: Int,
      units: Int,
      frame: Option[TestFrame],
      drops: Long,
      bytes: IndexedSeq[Byte]
  )
  val Record = 0
  val Lost   = 1
  val Filler = 2
  val Sealed = 3

  def record(frame: TestFrame, drops: Long): Job = {
    val bytes = Pcapng.record(frame, frame.data.size, drops)
    Job(Record, bytes.size / 8, Some(frame), drops, bytes)
  }

  def filler(units: Int): Job = {
    val size   = Seq(units * 8 & 255, units * 8 >> 8, 0, 0).map(_.toByte)
    val middle = Seq.fill(units * 8 - 12)(0.toByte)
    Job(
      Filler,
      units,
      None,
      0,
      (Seq(0x46, 0x4c, 0, 0x80).map(_.toByte) ++ size ++ middle ++ size).toIndexedSeq
    )
  }

  def random(r: Random): Job = r.nextInt(8) match {
    case 0 => Job(Lost, 0, Some(TestFrame.random(r, 1)), 0, IndexedSeq.empty)
    case 1 => filler(2 + r.nextInt(if (r.nextInt(4) == 0) 511 else 20))
    case 2 => Job(Sealed, 8 + r.nextInt(2), None, 0, IndexedSeq.empty)
    case _ =>
      val drops = if (r.nextBoolean()) 0L else r.nextInt() & 0xffffffffL
      record(TestFrame.random(r, r.nextLong() & Long.MaxValue), drops)
  }

  class Bench(dut: RecordBuilder, r: Random, pauses: Double) {
    val jobs                  = mutable.Queue[Job]()
    val awaited               = mutable.Queue[Job]()
    val beats                 = mutable.Queue[BigInt]()
    val bytes                 = mutable.ArrayBuffer[Byte]()
    var blocks                = 0
    var now, begun            = 0L
    private var sent, offered = false
    private var seal          = Pcapng.Sealed(0, 0, 0, 0, 0, 0, 0, 0)
    private val seals         = mutable.Queue[Pcapng.Sealed]()

    private def drive(job: Job): Unit = {
      val to = dut.io.blocks.payload
      dut.io.blocks.kind #= Block.Kind.elements(job.kind)
      to.units #= (if (job.units == 0) r.nextInt(2048) else job.units)
      to.counting #= job.drops != 0
      to.drops #= job.drops
      for (frame <- job.frame) {
        to.head.time #= BigInt(frame.time)
        to.head.original #= frame.original
        to.head.kept #= frame.data.size
        to.head.port #= frame.port
        to.head.flags #= frame.flags
        to.flagged #= frame.flags != 0
        to.dwords #= (frame.data.size + 3) / 4
      }
      if (job.kind == Sealed) {
        def long() = r.nextLong() & Long.MaxValue
        seal = Pcapng.Sealed(
          r.nextInt(3),
          long(),
          long(),
          long(),
          long(),
          r.nextInt(),
          r.nextInt(),
          job.units * 8
        )
        to.seal.reason #= Block.SealReason.elements(seal.reason)
        to.seal.number #= BigInt(seal.number)
        to.seal.time #= BigInt(seal.time)
        to.seal.records #= BigInt(seal.records)
        to.seal.bytes #= BigInt(seal.bytes)
        to.seal.lostRing #= seal.lostRing & 0xffffffffL
        to.seal.lostNoCell #= seal.lostNoCell & 0xffffffffL
      }
    }

    def cycle(): Unit = {
      dut.clockDomain.waitSampling()
      now += 1
      if (dut.io.beats.valid.toBoolean) {
        val units = dut.io.beats.units.toInt
        bytes ++= TestFrame.bytes(dut.io.beats.data.toBigInt, 8 * units)
        assert(units == 4 || dut.io.beats.last.toBoolean)
        if (dut.io.beats.last.toBoolean) ended()
      }
      if (dut.io.blocks.valid.toBoolean && dut.io.blocks.ready.toBoolean) {
        val job = jobs.dequeue()
        if (job.kind != Lost) awaited += job
        if (job.kind == Sealed) seals += seal
        sent = false
      }
      if (!sent && jobs.nonEmpty && r.nextDouble() >= pauses) {
        drive(jobs.head)
        for (frame <- jobs.head.frame) {
          // A frame's last beat has random bytes after the end of the data, which must not get into
          // a block.
          val junk = IndexedSeq.fill(32)(r.nextInt().toByte)
          beats ++= (frame.data ++ junk.take(-frame.data.size & 31)).grouped(32).map(TestFrame.bits)
        }
        sent = true
      }
      dut.io.blocks.valid #= sent
      if (dut.io.data.valid.toBoolean && dut.io.data.ready.toBoolean) {
        beats.dequeue()
        offered = false
      }
      if (!offered && beats.nonEmpty && r.nextDouble() >= pauses) {
        dut.io.data.payload #= beats.head
        offered = true
      }
      dut.io.data.valid #= offered
    }

    private def ended(): Unit = {
      val job = awaited.dequeue()
      assert(dut.io.beats.packet.toBoolean == (job.kind == Record))
      if (job.kind == Sealed) assert(Pcapng.read(bytes.toArray) == Seq(seals.dequeue()))
      else assert(bytes == job.bytes, s"$job")
      bytes.clear()
      blocks += 1
      if (blocks == 1) begun = now
    }
  }

  def run(name: String, pauses: Double)(jobs: Random => Seq[Job]): Double = {
    var cycles = 0.0
    compiled.doSim(name, Seed.value) { dut =>
      val r     = new Random(Seed.value)
      val bench = new Bench(dut, r, pauses)
      dut.io.blocks.valid #= false
      dut.io.data.valid #= false
      dut.clockDomain.forkStimulus(10)
      dut.clockDomain.waitSampling(5)
      bench.jobs ++= jobs(r)
      val blocks = bench.jobs.count(_.kind != Lost)
      while (bench.blocks < blocks && bench.now < 100000) bench.cycle()
      assert(bench.blocks == blocks, s"${bench.blocks} of $blocks blocks")
      cycles = (bench.now - bench.begun).toDouble / (blocks - 1)
      for (_ <- 0 until 20) bench.cycle()
      assert(bench.jobs.isEmpty && bench.beats.isEmpty && dut.io.idle.toBoolean)
    }
    cycles
  }

  for (pauses <- Seq(0.0, 0.4))
    test(s"blocks of all kinds, $pauses of the cycles without data, seed ${Seed.value}") {
      run(s"random$pauses", pauses)(r => Seq.fill(600)(random(r)))
    }

  test(s"frames of every length, with every kind of option, seed ${Seed.value}") {
    run("every", 0) { r =>
      for (size <- 1 to 140; flags <- 0 to 1; drops <- 0 to 1) yield {
        val data = Array.fill(size)(r.nextInt().toByte).toIndexedSeq
        record(TestFrame(1, 0, size, data, flags), drops)
      }
    }
  }

  test(s"the largest frames, which have 512 beats of data, seed ${Seed.value}") {
    run("largest", 0) { r =>
      for (size <- Seq(16352, 16353, 16383); flags <- 0 to 1; drops <- 0 to 1) yield {
        val data = Array.fill(size)(r.nextInt().toByte).toIndexedSeq
        record(TestFrame(1, 0, size, data, flags), drops)
      }
    }
  }

  test("a record with B beats of data takes B + 1 cycles") {
    for (
      (size, cycles) <- Seq(1 -> 2, 60 -> 3, 64 -> 3, 65 -> 4, 96 -> 4, 1514 -> 49, 9014 -> 283)
    ) {
      val taken = run(s"rate$size", 0) { r =>
        val data = IndexedSeq.fill(size)(r.nextInt().toByte)
        Seq.fill(50)(record(TestFrame(1, 0, size, data), 0))
      }
      assert(taken == cycles, s"for $size bytes")
    }
  }
}
