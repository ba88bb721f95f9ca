// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.vocabulary.{LaneboxSim, Seed}

/** Tests that BytePacker puts pieces of any size one behind the other, without a gap. */
class BytePackerTest extends AnyFunSuite {
  lazy val compiled = LaneboxSim(BytePacker())

  test(s"random pieces become rows, and forgotten ones leave nothing, seed ${Seed.value}") {
    compiled.doSim("random", Seed.value) { dut =>
      val random = new Random(Seed.value)
      val rows   = mutable.ArrayBuffer[Byte]()
      val frames = mutable.Queue[Seq[Byte]]()
      var kept   = 0
      dut.io.piece.valid #= false
      dut.io.end #= false
      dut.io.forget #= false
      dut.clockDomain.forkStimulus(10)
      dut.clockDomain.onSamplings {
        if (dut.io.row.valid.toBoolean) {
          val word  = dut.io.row.data.toBigInt
          val last  = dut.io.row.last.toBoolean
          val bytes = if (last) (dut.io.row.bytes.toInt + 31) % 32 + 1 else 32
          rows ++= (0 until bytes).map(i => (word >> (8 * i)).toByte)
          if (last) {
            assert(rows == frames.dequeue())
            rows.clear()
            kept += 1
          }
        }
        if (dut.io.forgot.toBoolean) rows.clear()
      }
      dut.clockDomain.waitSampling(3)
      for (_ <- 0 until 400) {
        val frame = mutable.ArrayBuffer[Byte]()
        for (_ <- 0 until 1 + random.nextInt(12)) {
          val start = random.nextInt(4)
          val bytes = if (random.nextBoolean()) 32 - start else 1 + random.nextInt(32 - start)
          val data  = Seq.fill(32)(random.nextInt().toByte)
          frame ++= data.slice(start, start + bytes)
          dut.io.piece.valid #= true
          dut.io.piece.start #= start
          dut.io.piece.bytes #= bytes
          dut.io.piece.data #= data.zipWithIndex.map { case (b, i) =>
            BigInt(b & 0xff) << (8 * i)
          }.reduce(_ | _)
          dut.clockDomain.waitSampling()
          dut.io.piece.valid #= false
          dut.clockDomain.waitSampling(if (random.nextBoolean()) 0 else random.nextInt(3))
        }
        val forgets = random.nextInt(4) == 0
        if (!forgets) frames += frame.toSeq
        (if (forgets) dut.io.forget else dut.io.end) #= true
        dut.clockDomain.waitSampling()
        dut.io.end #= false
        dut.io.forget #= false
      }
      dut.clockDomain.waitSampling(10)
      assert(frames.isEmpty && kept > 200 && dut.io.idle.toBoolean)
    }
  }
}
