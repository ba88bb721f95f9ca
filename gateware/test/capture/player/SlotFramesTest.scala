// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.player

import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.capture.TestFrame
import lanebox.vocabulary.{LaneboxSim, Seed}

/** Tests that each packet of the user slot becomes one frame, whole and in order, with the time of
  * its first beat, and that a frame leaves only when all of it is there.
  */
class SlotFramesTest extends AnyFunSuite {
  lazy val compiled = LaneboxSim(SlotFrames())

  private case class Packet(data: IndexedSeq[Byte], error: Boolean, var time: BigInt = 0)

  private def packets(r: Random): Seq[Packet] = Seq.tabulate(150) { i =>
    val size = i match {
      case 40 => 16352
      case 41 => 16353
      case 42 => 70000
      case _  => 1 + r.nextInt(if (r.nextInt(5) == 0) 3000 else 200)
    }
    Packet(Array.fill(size)(r.nextInt().toByte).toIndexedSeq, r.nextInt(10) == 0)
  }

  for ((slow, held) <- Seq((0.0, 0.0), (0.5, 0.1), (0.0, 0.6)))
    test(s"packets become frames, source pauses $slow, sink pauses $held, seed ${Seed.value}") {
      compiled.doSim(s"packets$slow$held", Seed.value) { dut =>
        val r   = new Random(Seed.value)
        val all = packets(r)
        val waiting = mutable.Queue(all.flatMap { each =>
          val beats = each.data.grouped(32).toSeq
          beats.zipWithIndex.map { case (beat, i) => (each, beat, i == 0, i == beats.size - 1) }
        }: _*)
        val data             = mutable.ArrayBuffer[Byte]()
        var came             = 0
        var ended            = 0
        var offered          = false
        var now              = BigInt(1) << 40
        val (stream, frames) = (dut.io.stream, dut.io.frames)
        stream.valid #= false
        frames.ready #= false
        dut.io.port #= 15
        dut.io.now #= now
        dut.clockDomain.forkStimulus(10)
        dut.clockDomain.waitSampling(5)
        var quiet = 0
        while (quiet < 200) {
          dut.clockDomain.waitSampling()
          if (offered && stream.ready.toBoolean) {
            val (packet, _, first, last) = waiting.dequeue()
            if (first) packet.time = now
            if (last) ended += 1
            offered = false
          }
          // `begun` shows a packet a cycle after its first beat, until its frame has left.
          val shown = all.lift(came).map(_.time).filter(time => time != 0 && time < now)
          assert(dut.io.begun.valid.toBoolean == shown.nonEmpty)
          if (shown.nonEmpty) assert(dut.io.begun.payload.toBigInt == shown.get)
          if (frames.valid.toBoolean) assert(came < ended, "a frame whose end has not come")
          if (frames.valid.toBoolean && frames.ready.toBoolean) {
            val want = all(came)
            val kept = want.data.size min 16352
            val head = frames.head
            assert(head.time.toBigInt == want.time && head.port.toInt == 15)
            assert(head.original.toInt == (want.data.size min 65535) && head.kept.toInt == kept)
            assert(frames.error.toBoolean == want.error && head.flags.toLong == 0)
            data ++= TestFrame.bytes(frames.data.toBigInt)
            assert(frames.last.toBoolean == data.size >= kept)
            if (frames.last.toBoolean) {
              assert(frames.bytes.toInt == kept % 32 && data.take(kept) == want.data.take(kept))
              data.clear()
              came += 1
            }
          }
          now += 4
          dut.io.now #= now
          if (!offered && waiting.nonEmpty && r.nextDouble() >= slow) {
            val (packet, beat, _, last) = waiting.head
            val junk                    = Seq.fill(32 - beat.size)(r.nextInt().toByte)
            stream.data #= TestFrame.bits(beat ++ junk)
            stream.last #= last
            // A whole beat has 32 bytes, or 0, which means the same.
            stream.bytes #= (if (last && (beat.size < 32 || r.nextBoolean())) beat.size
                             else if (last) 0
                             else r.nextInt(64))
            stream.error #= (if (last) packet.error else r.nextBoolean())
            offered = true
          }
          stream.valid #= offered
          frames.ready #= r.nextDouble() >= held
          quiet = if (waiting.isEmpty && came == all.size) quiet + 1 else 0
        }
        assert(!dut.io.busy.toBoolean)
      }
    }
}
