// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.queues

import scala.collection.mutable
import scala.util.Random
import spinal.core.sim._

import lanebox.capture.{CaptureCampaign, CaptureQueues, CaptureSetup}
import lanebox.capture.vocabulary.CaptureParam
import lanebox.vocabulary.{LaneboxSim, Seed}

/** A campaign of random steps against four queues: frames, good and bad, pauses of frames and host,
  * limits and stale limits, seals, wakes and quotas of single queues, queues whose host stops for a
  * while, stops under load, and restarts with other rules, spread and settings.
  *
  * A step is one of these acts and a few cycles. After each recording CaptureQueuesBench compares
  * each queue's records with the frames that rules and spread must have sent there, byte for byte,
  * and the accounts of all queues and rules with its own counts, in frames and bytes.
  */
class QueuesCampaign(dut: CaptureQueues, seed: Int) {
  import QueuesCampaign._

  // The number of frames of each fate, and of other events of the campaign, for a report.
  val totals = mutable.Map[String, Long]().withDefaultValue(0L)

  def run(steps: Int, from: Int = 0): Unit = {
    val rounds = (steps + RoundSteps - 1) / RoundSteps
    for (round <- from until from + rounds) {
      val random = new Random(seed.toLong << 32 | round)
      val own    = CaptureCampaign.setup(random)
      val bench  = new CaptureQueuesBench(dut, random, own)
      try recording(bench, own, random, first = round == from)
      catch {
        case error: Throwable =>
          throw new AssertionError(s"seed $seed, round $round, $own: ${error.getMessage}", error)
      }
    }
  }

  private def recording(
      b: CaptureQueuesBench,
      own: CaptureSetup,
      r: Random,
      first: Boolean
  ): Unit = {
    b.rules = Seq.fill(r.nextInt(17))(RuleModel.random(r))
    b.spread = IndexedSeq.fill(Spread.Entries)(r.nextInt(16))
    b.byPort = r.nextInt(3) == 0
    b.sorts = r.nextInt(8) > 0
    b.reset(first)
    b.begin()
    for (_ <- 0 until RoundSteps) step(b, own, r)
    // While the card stops, the host takes data in at least half of the cycles.
    b.hosts.head.pauses = 0.5 * r.nextDouble()
    // No frame may be lost with `lossless`, so all limits rise for the frames that wait for room.
    // The staging memory has 4096 beats, of which the host takes one in two cycles at least.
    b.run = false
    for (_ <- 0 until 500 if own.lossless) {
      for (queue <- 0 until b.queues) b.raise(queue)
      b.cycles(20)
    }
    b.stop()
    val delivered = b.check().map(_.size)
    count(b, own, delivered)
    // The stopped capture block drops the frames that are left, and does not count them.
    b.source.clear()
    while (!b.driver.idle) b.cycle()
  }

  private def step(b: CaptureQueuesBench, own: CaptureSetup, r: Random): Unit = {
    val queue = r.nextInt(b.queues)
    r.nextInt(200) match {
      case n if n < 110 => if (b.source.size < 4) b.offer(2, bad = 5)
      case n if n < 130 => if (b.source.size < 4) b.offerSize(1, 1 + r.nextInt(1600))
      case n if n < 146 => b.hosts.head.pauses = Pauses(r.nextInt(Pauses.size))
      case n if n < 150 => b.driver.pauses = Pauses(r.nextInt(3))
      case n if n < 157 => if (!own.lossless) b.stopped += queue
      case n if n < 160 => b.stopped -= queue
      case n if n < 182 => if (!own.newest && !b.stopped(queue)) b.raise(queue)
      case n if n < 190 => if (!own.newest) b.stale(queue)
      case n if n < 192 => b.seal(queue)
      case n if n < 194 => b.quota(queue, r.nextInt(Param.cells + 2))
      case n if n < 199 => b.wake(queue, b.hosts(queue).position + r.nextInt(10000))
      case _            => stall(b, r)
    }
    b.cycles(1 + r.nextInt(8))
  }

  /** The host takes nothing for a while, as long as the staging memory lasts or longer. */
  private def stall(b: CaptureQueuesBench, r: Random): Unit = {
    b.hosts.head.pauses = 1
    for (_ <- 0 until r.nextInt(30)) {
      if (b.source.size < 4) b.offerSize(2, 1600)
      b.cycles(r.nextInt(100))
    }
    b.hosts.head.pauses = 0
  }

  private def count(b: CaptureQueuesBench, own: CaptureSetup, delivered: Seq[Int]): Unit = {
    val all = b.accounts()._1.flatMap(_.values)
    totals("recordings") += 1
    totals("cycles") += b.hosts.head.cycles
    totals("frames") += b.seen.map(_.size).sum + b.discarded.size
    totals("delivered") += delivered.sum
    totals("delivered by the queue with fewest") += delivered.min
    totals("discarded by a rule") += b.discarded.size
    totals("bad") += all.map(_.bad._1).sum
    totals("lost for the ring") += all.map(_.lostRing._1).sum
    totals("lost for the staging memory") += all.map(_.lostNoCell._1).sum
    totals("MBUFs") += b.hosts.map(_.position >> own.mbufLog2).sum
    totals("wakes") += b.calls
  }
}

object QueuesCampaign {
  // The steps of one recording. The next recording begins without a reset, with other settings.
  val RoundSteps = 1000
  // The host's chance to take nothing in a cycle.
  val Pauses = CaptureCampaign.Pauses

  val Param = CaptureParam(cells = 32, segments = 64, queues = 4)

  /** Runs `steps` steps with `compiled`, a block of the parameters Param, from round `from` on, and
    * prints how many frames had each fate.
    */
  def campaign(
      steps: Int,
      compiled: SimCompiled[CaptureQueues],
      from: Int = 0
  ): Map[String, Long] = {
    var found = Map[String, Long]()
    println(s"campaign of capture queues: $steps steps, seed ${Seed.value}")
    compiled.doSim("campaign", Seed.value) { dut =>
      val campaign = new QueuesCampaign(dut, Seed.value)
      campaign.run(steps, from)
      found = campaign.totals.toMap
    }
    for ((what, number) <- found.toSeq.sorted) println(f"$number%12d $what")
    found
  }

  /** `QueuesCampaign STEPS [ROUND]`: a round that has failed is repeated by its number. */
  def main(args: Array[String]): Unit = {
    val from = args.lift(1).fold(0)(_.toInt)
    campaign(args(0).toInt, LaneboxSim(CaptureQueues(Param)), from)
  }
}
