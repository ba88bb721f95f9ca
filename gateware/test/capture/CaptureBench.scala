// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture

import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.capture.accounts.Accounts

/** Settings of a capture block in a test, and how often the frame source and the host pause. */
case class CaptureSetup(
    mbufLog2: Int = 12,
    segments: Int = 4,
    segmentLog2: Int = 13,
    snap: Int = 0,
    keepBad: Boolean = false,
    lossless: Boolean = false,
    newest: Boolean = false,
    relaxed: Boolean = false,
    waits: Int = 50,
    framePauses: Double = 0,
    hostPauses: Double = 0,
    // Chance, in each cycle, that the host has read the ring up to the card's position and raises
    // the limit, which the card's writes must not pass.
    limits: Double = 0.01,
    // Chance, in each cycle, that software asks for a seal, which ends the present MBUF early.
    seals: Double = 0
)

/** The capture block's counts for one port, as (frames, bytes) for each fate of a frame: delivered
  * to the ring, dropped as bad, lost for the ring, or lost for the staging memory.
  */
case class PortAccount(
    delivered: (Long, Long),
    bad: (Long, Long),
    lostRing: (Long, Long),
    lostNoCell: (Long, Long)
) {
  def fates: Seq[(Long, Long)] = Seq(delivered, bad, lostRing, lostNoCell)
  def total: (Long, Long)      = (fates.map(_._1).sum, fates.map(_._2).sum)
}

/** A frame whose record is in the ring, how many bytes of the frame were kept, and how many frames
  * of its port were lost since the port's previous record.
  */
case class Delivered(frame: TestFrame, kept: Int, drops: Long)

/** Test bench of a Capture: a source of frames, the host's memory and the host's program.
  *
  * `check` compares the recording in the host's memory with all frames that were sent, byte for
  * byte.
  */
class CaptureBench(dut: Capture, val random: Random, setup: CaptureSetup) {
  import setup._
  val ring = RingHost.ring(random, segments, segmentLog2)
  val host = new RingHost(dut.io.request, random, ring)
  // Frames whose first beat was taken while the setting `run` was on, in order.
  val seen    = mutable.ArrayBuffer[TestFrame]()
  val begunAt = mutable.ArrayBuffer[Long]()
  val source  = mutable.Queue[TestFrame]()
  val driver =
    new FrameDriver(dut.io.frames, random)(Option.when(source.nonEmpty)(source.dequeue()))
  var now = 0L
  var run = false
  // The value of the input `run` that the capture block saw at the last clock edge.
  private var ran = false
  // While true, the host does not raise the limit, so the card may fill the ring but not go on.
  var holds = false
  // Software asks for a seal in the next cycle.
  private var asks = false
  // The limit that software writes in the next cycle.
  private var told: Option[Long] = None
  // The accounts of the last snapshot under load. No count may be lower in a later one.
  private var watched = Map[Int, PortAccount]()
  private var time    = 0x1122334400000000L + random.nextInt()

  driver.pauses = framePauses
  host.pauses = hostPauses
  driver.begun = frame =>
    if (ran) {
      seen += frame
      begunAt += now
    }

  def nextTime(): Long = {
    time += 1 + random.nextInt(1000)
    time
  }
  def offer(count: Int, largest: Int = 1600, bad: Int = 0): Unit =
    source ++= Seq.fill(count)(TestFrame.random(random, nextTime(), largest, bad))
  def offerSize(count: Int, size: Int): Unit = source ++= Seq.fill(count)(
    TestFrame(nextTime(), 0, size, Array.fill(size)(random.nextInt().toByte).toIndexedSeq)
  )

  def cycle(): Unit = {
    dut.clockDomain.waitSampling()
    now += 1
    dut.io.now #= now * 4
    host.cycle()
    driver.cycle()
    dut.io.settings.run #= run
    ran = run
    dut.io.seal #= asks || random.nextDouble() < seals
    asks = false
    val raises = !newest && !holds && random.nextDouble() < limits
    if (raises) host.limit = host.position + host.size
    dut.io.limit.valid #= raises || random.nextInt(100) == 0
    // Sometimes the host writes a limit below the present one, which the capture block must ignore.
    dut.io.limit.payload #= (if (raises) host.position + host.size
                             else random.nextInt(host.position.toInt + 1).toLong)
    for (limit <- told) {
      dut.io.limit.valid #= true
      dut.io.limit.payload #= limit
    }
    told = None
  }

  /** Asks the card to close the present MBUF (part of the ring) in the next cycle. */
  def seal(): Unit = asks = true

  /** Writes a limit that is `ahead` bytes before the card's position, at most a ring. The limit
    * only grows, so it may be one that the card must ignore.
    */
  def raise(ahead: Int): Unit = if (!holds) {
    told = Some(host.position + ahead)
    host.limit = host.limit max host.position + ahead
  }

  /** Writes a limit that is too low, which the card must ignore. */
  def stale(): Unit            = told = Some((random.nextDouble() * host.limit).toLong)
  def cycles(count: Int): Unit = for (_ <- 0 until count) cycle()

  /** Sets all inputs of the capture block to their values at rest. `first` also starts the clock
    * and resets the block.
    */
  def reset(first: Boolean = true): Unit = {
    dut.io.frames.valid #= false
    dut.io.limit.valid #= false
    dut.io.segment.valid #= false
    dut.io.wake.valid #= false
    dut.io.request.ready #= false
    for (signal <- Seq(dut.io.clear, dut.io.seal, dut.io.snapshot, dut.io.settings.run))
      signal #= false
    val to = dut.io.settings
    to.keepBad #= keepBad
    to.lossless #= lossless
    to.newest #= newest
    to.relaxed #= relaxed
    to.snap #= snap
    to.patience #= waits
    to.mbufLog2 #= mbufLog2
    to.segmentLog2 #= segmentLog2
    to.lastSegment #= segments - 1
    to.statusAddress #= ring.status
    dut.io.now #= 0
    dut.io.index #= 0
    if (first) dut.clockDomain.forkStimulus(10)
    dut.clockDomain.waitSampling(10)
  }

  /** Writes the addresses of the ring's segments to the capture block, clears the block and starts
    * a recording.
    */
  def begin(): Unit = {
    for ((base, index) <- ring.segments.zipWithIndex) {
      dut.io.segment.valid #= true
      dut.io.segment.index #= index
      dut.io.segment.page #= base / 4096
      dut.clockDomain.waitSampling()
    }
    dut.io.segment.valid #= false
    dut.io.clear #= true
    dut.clockDomain.waitSampling()
    dut.io.clear #= false
    dut.clockDomain.waitSamplingWhere(2000)(!dut.io.accountsBusy.toBoolean)
    if (!newest) {
      dut.io.limit.valid #= true
      host.limit = host.size
      dut.io.limit.payload #= host.size
      dut.clockDomain.waitSampling()
      dut.io.limit.valid #= false
      dut.clockDomain.waitSampling(5)
    }
    run = true
    cycle()
  }

  /** Runs until the capture block has taken all offered frames. Fails after `most` cycles. */
  def drain(most: Int): Unit = {
    val end = now + most
    while ((source.nonEmpty || !driver.idle) && now < end) cycle()
    assert(source.isEmpty && driver.idle, s"${source.size} frames were not taken")
  }

  def stop(most: Int = 20000): Unit = {
    run = false
    val end = now + most
    cycles(5)
    while (!dut.io.idle.toBoolean && now < end) cycle()
    assert(dut.io.idle.toBoolean, "not idle")
    val beats = host.beats
    cycles(300)
    assert(host.beats == beats, "something was written after idle")
  }

  def accounts(): Map[Int, PortAccount] = {
    dut.io.snapshot #= true
    cycle()
    dut.io.snapshot #= false
    cycle()
    while (dut.io.accountsBusy.toBoolean) cycle()
    def entry(port: Int, fate: SpinalFate): (Long, Long) = {
      dut.io.index #= 4 * port + fate.position
      cycles(2)
      (dut.io.account.frames.toBigInt.toLong, dut.io.account.bytes.toBigInt.toLong)
    }
    (0 until 16).map { port =>
      port -> PortAccount(
        entry(port, Accounts.Fate.delivered),
        entry(port, Accounts.Fate.bad),
        entry(port, Accounts.Fate.lostRing),
        entry(port, Accounts.Fate.lostNoCell)
      )
    }.toMap
  }

  /** Returns how many frames the card has counted as lost, of any cause. */
  def lost(): Long = accounts().values.map(each => each.lostRing._1 + each.lostNoCell._1).sum

  /** Takes a snapshot while frames come. It has no frame that was not sent, lacks only frames that
    * are in the block's stages, and no count is below that of an earlier snapshot.
    */
  def watch(): Unit = {
    val before = seen.size
    val now    = accounts()
    val told   = now.values.map(_.total._1).sum
    assert(told <= seen.size && told >= before - 80, s"$told frames of $before to ${seen.size}")
    for ((port, account) <- watched; (late, early) <- now(port).fates.zip(account.fates))
      assert(late._1 >= early._1 && late._2 >= early._2, s"port $port: $account, then ${now(port)}")
    watched = now
  }
  private type SpinalFate = spinal.core.SpinalEnumElement[Accounts.Fate.type]

  /** Compares the recording in host memory with the frames that were sent, and the card's counts
    * with the test's own. Returns the frames whose records are in the ring, in order.
    */
  def check(): Seq[Delivered] = RecordingCheck(setup, host, seen.toSeq, accounts())
}
