// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture

import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.capture.vocabulary.CaptureParam
import lanebox.vocabulary.{LaneboxSim, Seed}

/** A campaign of random steps against the capture block: frames, good and bad, pauses of frames and
  * host, limits and stale limits, seals, snapshots, stops under load, and restarts with other
  * settings.
  *
  * A step is one of these acts and a few cycles. After each recording CaptureBench compares every
  * record with its frame byte for byte, and the accounts with its own counts, in frames and bytes.
  */
class CaptureCampaign(dut: Capture, seed: Int) {
  import CaptureCampaign._

  // The number of frames of each fate, and of other events of the campaign, for a report.
  val totals = mutable.Map[String, Long]().withDefaultValue(0L)

  def run(steps: Int): Unit = {
    val rounds = (steps + RoundSteps - 1) / RoundSteps
    for (round <- 0 until rounds) {
      val random = new Random(seed.toLong << 32 | round)
      val own    = setup(random)
      val bench  = new CaptureBench(dut, random, own)
      try recording(bench, own, random, first = round == 0)
      catch {
        case error: Throwable =>
          throw new AssertionError(s"seed $seed, round $round, $own: ${error.getMessage}", error)
      }
    }
  }

  private def recording(b: CaptureBench, own: CaptureSetup, r: Random, first: Boolean): Unit = {
    b.reset(first)
    b.begin()
    val largest = Seq(100, 100, 300, 300, 1600, 5000)(r.nextInt(6))
    for (_ <- 0 until RoundSteps) step(b, own, r, largest)
    // While the card stops, the host takes data in at least half of the cycles.
    b.run = false
    b.cycles(r.nextInt(200))
    b.host.pauses = 0.5 * r.nextDouble()
    // No frame may be lost with `lossless`, so the limit rises for the frames that wait for room.
    b.holds = false
    for (_ <- 0 until 100 if own.lossless) {
      b.raise(b.host.size.toInt)
      b.cycles(20)
    }
    b.stop()
    val delivered = b.check()
    count(b, own, delivered)
    // The stopped capture block drops the frames that are left, and does not count them.
    b.source.clear()
    while (!b.driver.idle) b.cycle()
  }

  private def step(b: CaptureBench, own: CaptureSetup, r: Random, largest: Int): Unit = {
    r.nextInt(200) match {
      case n if n < 130 => if (b.source.size < 4) b.offer(1, largest, bad = 5)
      case n if n < 142 => b.host.pauses = Pauses(r.nextInt(Pauses.size))
      case n if n < 150 => b.driver.pauses = Pauses(r.nextInt(3))
      case n if n < 154 => b.holds = r.nextInt(3) == 0
      case n if n < 182 => if (!own.newest) b.raise(r.nextInt(b.host.size.toInt + 1))
      case n if n < 192 => if (!own.newest) b.stale()
      case n if n < 195 => b.seal()
      case n if n < 198 => b.watch()
      case n if n < 199 => probe(b, own)
      case _            => stall(b, r)
    }
    b.cycles(1 + r.nextInt(8))
  }

  /** No frame may be lost while the ring has room below the limit, also behind a stale limit. */
  private def probe(b: CaptureBench, own: CaptureSetup): Unit = {
    val roomy = b.host.size >= (2 << own.mbufLog2)
    if (!own.newest && !own.lossless && roomy) {
      b.holds = false
      b.host.pauses = 0
      b.driver.pauses = 0
      // The next record begins an MBUF, so it needs the limit. The staging memory becomes empty,
      // and a status line reports all records.
      b.seal()
      b.cycles(4000)
      b.raise(b.host.size.toInt)
      b.cycles(20)
      b.stale()
      b.cycles(20)
      val before = b.lost()
      b.offer(3, 300)
      b.cycles(200)
      assert(b.lost() == before, "a frame was lost that had room")
      totals("probes") += 1
    }
  }

  /** The host takes nothing for a while, as long as the staging memory lasts or longer. */
  private def stall(b: CaptureBench, r: Random): Unit = {
    b.host.pauses = 1
    for (_ <- 0 until r.nextInt(40)) {
      if (b.source.size < 4) b.offer(4, 1600)
      b.cycles(r.nextInt(100))
    }
    b.host.pauses = 0
  }

  private def count(b: CaptureBench, own: CaptureSetup, delivered: Seq[Delivered]): Unit = {
    val all = b.accounts().values
    totals("recordings") += 1
    totals("cycles") += b.now
    totals("frames") += b.seen.size
    totals("delivered") += delivered.size
    totals("with drop count") += delivered.count(_.drops > 0)
    totals("bad") += all.map(_.bad._1).sum
    totals("lost for the ring") += all.map(_.lostRing._1).sum
    totals("lost for the staging memory") += all.map(_.lostNoCell._1).sum
    totals("MBUFs") += b.host.position >> own.mbufLog2
  }
}

object CaptureCampaign {
  // The steps of one recording. The next recording begins without a reset, with other settings.
  val RoundSteps = 2000
  // The host's chance to take nothing in a cycle.
  val Pauses = Seq(0.0, 0.2, 0.6, 0.9)

  def compile() = LaneboxSim(Capture(CaptureParam(cells = 16, segments = 16)))

  def setup(r: Random): CaptureSetup = {
    val mbufLog2    = 12 + r.nextInt(4)
    val segmentLog2 = mbufLog2 max (13 + r.nextInt(3))
    // Bytes of the smallest ring: two MBUFs, and at least 32 KiB.
    val smallest = (2 << mbufLog2) max 32768
    val least    = (smallest >> segmentLog2) max 1
    val mode     = r.nextInt(8)
    CaptureSetup(
      mbufLog2 = mbufLog2,
      segmentLog2 = segmentLog2,
      segments = least + r.nextInt(4),
      snap = if (r.nextInt(3) == 0) 1 + r.nextInt(300) else 0,
      keepBad = r.nextBoolean(),
      newest = mode == 0,
      lossless = mode == 1,
      relaxed = r.nextBoolean(),
      waits = if (r.nextInt(3) == 0) 0 else r.nextInt(300),
      limits = Seq(0, 0.0003, 0.002, 0.01)(r.nextInt(4)),
      seals = 0
    )
  }

  /** Runs `steps` steps, and prints how many frames had each fate. */
  def campaign(steps: Int): Map[String, Long] = {
    var found = Map[String, Long]()
    println(s"capture campaign: $steps steps, seed ${Seed.value}")
    compile().doSim("campaign", Seed.value) { dut =>
      val campaign = new CaptureCampaign(dut, Seed.value)
      campaign.run(steps)
      found = campaign.totals.toMap
    }
    for ((what, number) <- found.toSeq.sorted) println(f"$number%12d $what")
    found
  }

  def main(args: Array[String]): Unit = campaign(args(0).toInt)
}
