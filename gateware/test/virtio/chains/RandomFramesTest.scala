// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.chains

import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.virtio.vocabulary.VirtioParam
import lanebox.virtio.{NetBench, PairsDriver, VirtioDevices}
import lanebox.vocabulary.Seed

/** Tests that random frames of the net device arrive exactly once in both directions, in order and
  * byte for byte, in random chains of both pairs of queues. Frames are lost only where they may be,
  * and the device counts them. No notification and no interrupt is missing. In between queues are
  * reset alone, or the device in the middle of its work, and all goes on.
  *
  * The environment variable LANEBOX_CHAINS has the number of frames.
  */
class RandomFramesTest extends NetBench {
  import VirtioParam._

  val Frames = sys.env.getOrElse("LANEBOX_CHAINS", "2000").toInt

  test(s"$Frames random frames arrive or are counted as lost, seed ${Seed.value}") {
    var rounds: Rounds = null
    try
      compiled.doSim("frames", Seed.value) { dut =>
        rounds = new Rounds(dut, new Random(simRandom.nextLong()))
        while (rounds.ledger.moved < Frames) rounds.next()
      }
    finally println(rounds)
    assert(rounds.ledger.moved >= Frames)
  }

  /** Rounds of random frames. Each has a driver with other features, rings and latencies. */
  class Rounds(dut: VirtioDevices, random: Random) {
    val ledger          = new FrameLedger
    private val first   = new PairsDriver(dut, random, features(NetPairs, NetControl))
    private val far     = new FarSide(dut, random)
    private var traffic = Option.empty[FrameTraffic]
    private var cycles  = 0L
    private var count   = 0
    private val resets  = mutable.Seq(0, 0) // Of the device in the middle, and of a queue.
    private var present = ""
    dut.clockDomain.onSamplings {
      cycles += 1
      traffic.foreach(_.cycle())
    }

    /** Returns the counts of all rounds so far, and the kind of the present round. */
    override def toString: String =
      s"${ledger.moved} frames in $count rounds, ${ledger.lost} lost, ${resets(1)} queues and " +
        s"${resets(0)} times the device reset, $cycles cycles; in the last round: $present"

    def next(): Unit = {
      val bits = Seq(EventIndex, Indirect, NotificationData, NetMerge, RingReset)
        .filter(_ => random.nextBoolean())
      val pairs  = 2 - (if (random.nextInt(4) == 0) 1 else 0)
      val floods = random.nextInt(3) == 0
      present = s"features ${bits.mkString(" ")}, $pairs pairs, " +
        (if (floods) "the store overflows" else "the store has room")
      val agreed = features(bits ++ Seq(NetPairs, NetControl): _*)
      val driver = new PairsDriver(dut, random, agreed, Some(first))
      prepare(driver)
      driver.activate(pairs)
      val now =
        new FrameTraffic(driver, far, random, ledger, bits.contains(NetMerge), pairs, floods)
      traffic = Some(now)
      run(now, bits.contains(RingReset))
      now.end()
      traffic = None
      count += 1
    }

    private def prepare(driver: PairsDriver): Unit = {
      driver.host.latency = 1 + random.nextInt(1 << random.nextInt(8))
      driver.host.pauses = if (random.nextBoolean()) 0.05 else random.nextDouble() * 0.5
      far.stalls = if (random.nextBoolean()) 0.05 else random.nextDouble() * 0.6
      far.driver.pauses = if (random.nextBoolean()) 0 else random.nextDouble() * 0.4
      driver.initialise(2 << random.nextInt(4))
      for (queue <- driver.queues) RandomChainsTest.order(queue, random)
      if (random.nextBoolean())
        driver.startAt(0x10000 - driver.receive.size * (1 + random.nextInt(4)))
    }

    /** Lets the traffic run up to its end, or up to a reset of the device in its middle. */
    private def run(now: FrameTraffic, resetsQueues: Boolean): Unit = {
      val goal = 1 + random.nextInt(MostFrames)
      val cuts = random.nextInt(6) == 0
      while (now.made < goal) {
        now.turn()
        if (resetsQueues && random.nextInt(60) == 0) {
          now.resetQueue(random.nextInt(4))
          resets(1) += 1
        }
      }
      if (cuts) resets(0) += 1 else now.settle()
    }
  }
  val MostFrames = 250 // The most frames of a round.
}
