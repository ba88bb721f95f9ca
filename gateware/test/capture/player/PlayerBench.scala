// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.player

import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.capture.TestFrame

/** Feeds the player with a stream, and takes its frames. Both sides pause at random. */
class PlayerBench(dut: Player, val random: Random) {
  // Chances in a cycle: that no beat of the stream is offered, and that no beat of a frame is
  // taken.
  var streamPauses, framePauses = 0.0
  var now                       = 1000L
  // The beats that have not been offered yet, each with a flag: the host fails to give it.
  val beats = mutable.Queue[(BigInt, Boolean)]()
  // All frames that came, with the time of the first beat.
  val frames          = mutable.ArrayBuffer[(TestFrame, Long)]()
  private var head    = TestFrame(0, 0, 0, IndexedSeq())
  private var kept    = 0
  private val bytes   = mutable.ArrayBuffer[Byte]()
  private var begunAt = 0L
  private var offered = false
  private var waits   = false // A frame's first beat was offered and not taken.
  private var leftAt  = 0L
  var cycles, quiet   = 0

  def reset(): Unit = {
    dut.io.run #= false
    dut.io.stream.valid #= false
    dut.io.frames.ready #= false
    settle()
    dut.clockDomain.forkStimulus(10)
    dut.clockDomain.waitSampling(5)
  }

  def settle(
      mode: PlayerPace.Mode.E = PlayerPace.Mode.fast,
      rate: Int = 0,
      overhead: Int = 0,
      least: Int = 0,
      perPacket: Boolean = false,
      port: Option[Int] = None,
      keepTime: Boolean = true
  ): Unit = {
    dut.io.settings.pace.mode #= mode
    dut.io.settings.pace.rate #= rate
    dut.io.settings.pace.overhead #= overhead
    dut.io.settings.pace.least #= least
    dut.io.settings.pace.perPacket #= perPacket
    dut.io.settings.fixedPort #= port.nonEmpty
    val number: Int = port.getOrElse(9)
    dut.io.settings.port #= number
    dut.io.settings.keepTime #= keepTime
  }

  /** Stops the player, waits until no frame is leaving, and starts it again. */
  def begin(): Unit = {
    dut.io.run #= false
    // Without `run` the stream belongs to the user slot, and so does a beat that was offered.
    beats.clear()
    offered = false
    run(10)
    while (!dut.io.idle.toBoolean) cycle()
    assert(bytes.isEmpty, "the last frame was cut")
    dut.io.run #= true
    frames.clear()
  }

  def stop(): Unit = dut.io.run #= false

  def dutError: Int = dut.io.results.error.toEnum.position

  def offer(stream: Array[Byte], failing: Int = -1): Unit =
    for ((part, i) <- stream.grouped(32).toSeq.zipWithIndex)
      beats += ((TestFrame.bits(part.toIndexedSeq), i == failing))

  /** Runs until nothing has moved for `idle` cycles. Fails if the stream is not taken. */
  def drain(idle: Int = 100, most: Int = 200000): Unit = {
    val end = cycles + most
    quiet = 0
    while (quiet < idle) {
      cycle()
      assert(cycles < end, s"no end in $most cycles, ${beats.size} beats left")
    }
    assert(beats.isEmpty && !offered, s"${beats.size} beats were not taken")
    assert(!dut.io.busy.toBoolean, "busy after the end")
  }

  def run(count: Int): Unit = for (_ <- 0 until count) cycle()

  /** Runs one clock cycle, in which time goes on by 4 ns. */
  def cycle(): Unit = {
    dut.clockDomain.waitSampling()
    cycles += 1
    quiet += 1
    val stream = dut.io.stream
    if (offered && stream.ready.toBoolean) {
      offered = false
      quiet = 0
    }
    val port = dut.io.frames
    checkBegun()
    if (port.valid.toBoolean && port.ready.toBoolean) take()
    if (dut.io.busy.toBoolean) quiet = 0
    now += 4
    dut.io.now #= now
    dut.io.clock #= now + PlayerBench.ClockLead
    if (!offered && beats.nonEmpty && random.nextDouble() >= streamPauses) {
      val (data, failed) = beats.dequeue()
      stream.data #= data
      stream.failed #= failed
      offered = true
    }
    stream.valid #= offered
    port.ready #= random.nextDouble() >= framePauses
  }

  /** `begun` has the clock's time of the cycle before the one in which a frame was first
    * offered, whatever time the frame has.
    */
  private def checkBegun(): Unit = {
    val port  = dut.io.frames
    val first = port.valid.toBoolean && bytes.isEmpty
    assert(dut.io.begun.valid.toBoolean == port.valid.toBoolean)
    if (first && !waits) leftAt = now - 4 + PlayerBench.ClockLead
    if (first) assert(dut.io.begun.payload.toBigInt == leftAt)
    waits = first && !port.ready.toBoolean
  }

  private def take(): Unit = {
    val port = dut.io.frames
    if (bytes.isEmpty) {
      val h = port.head
      kept = h.kept.toInt
      begunAt = now
      head = TestFrame(
        h.time.toBigInt.toLong,
        h.port.toInt,
        h.original.toInt,
        IndexedSeq(),
        h.flags.toLong
      )
    }
    assert(!port.error.toBoolean)
    bytes ++= TestFrame.bytes(port.data.toBigInt)
    assert(port.last.toBoolean == (bytes.size >= kept), s"`last` of a frame of $kept bytes")
    if (port.last.toBoolean) {
      assert(port.bytes.toInt == kept % 32)
      frames += ((head.copy(data = bytes.take(kept).toIndexedSeq), begunAt))
      bytes.clear()
    }
  }

  /** Compares the player's frames and results with those that PlayerModel computes of the stream.
    */
  def check(stream: Array[Byte], port: Option[Int] = None): Played = {
    val wanted  = PlayerModel.play(stream, port)
    val results = dut.io.results
    for (((frame, _), i) <- frames.zipWithIndex)
      assert(
        wanted.frames.lift(i).contains(frame),
        s"frame $i is $frame, not ${wanted.frames.lift(i)}"
      )
    assert(frames.size == wanted.frames.size)
    assert(dutError == wanted.error)
    assert(results.passed.toLong == wanted.passed && results.skipped.toLong == wanted.skipped)
    assert(results.empty.toLong == wanted.empty)
    assert(results.packets.toLong == wanted.frames.size)
    assert(results.bytes.toLong == wanted.frames.map(_.data.size.toLong).sum)
    assert(results.inBlock.toBoolean == wanted.inBlock)
    wanted
  }
}

object PlayerBench {

  /** The clock that frames have their times from is this many ns ahead of device time. */
  val ClockLead = 1700000000000000000L
}
