// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.chains

import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.virtio.vocabulary.VirtioParam
import lanebox.virtio.{ConsoleBench, ConsoleDriver, DriverQueue, VirtioDevices}
import lanebox.vocabulary.{LaneboxSim, Seed}

/** Tests that the console uses random chains as the reference does: each used element, its order,
  * its length, all bytes of its buffers, and whether notifications and interrupts come. In between
  * drivers break rules, or reset the device in the middle of its work, and it goes on.
  *
  * The environment variable LANEBOX_CHAINS has the number of chains of both tests together.
  */
class RandomChainsTest extends AnyFunSuite {
  import RandomChainsTest._

  val Chains = sys.env.getOrElse("LANEBOX_CHAINS", "8000").toInt

  for (
    (name, packed) <- Seq("a card with split rings" -> false, "a card with packed rings" -> true)
  )
    test(s"${Chains / 2} random chains are used as they must be by $name, seed ${Seed.value}") {
      var rounds: Rounds = null
      try
        (if (packed) packedRing else ConsoleBench.compiled).doSim(s"chains_$packed", Seed.value) {
          dut =>
            rounds = new Rounds(dut, new Random(simRandom.nextLong()), packed)
            while (rounds.counts.chains < Chains / 2) rounds.next()
        }
      finally println(rounds)
      assert(rounds.counts.chains >= Chains / 2)
    }
}

object RandomChainsTest {
  import VirtioParam.{EventIndex, Indirect, NotificationData, Packed}

  private lazy val packedRing = LaneboxSim {
    val dut = VirtioDevices(Seq(ConsoleBench.param.withPacked(true)))
    ConsoleBench.indices(dut).foreach(_.simPublic())
    dut
  }

  case class Counts(
      chains: Long = 0,
      rounds: Int = 0,
      resets: Int = 0,
      hostile: Int = 0
  ) {
    override def toString: String =
      s"$chains chains in $rounds rounds, $resets resets in the middle, $hostile broken rules"
  }

  /** Rounds of random chains. Each has a driver with other features, rings and latencies. */
  private class Rounds(dut: VirtioDevices, random: Random, packedBuild: Boolean) {
    private val needed  = VirtioParam.Required | BigInt(1) << VirtioParam.AccessPlatform
    private val first   = new ConsoleDriver(dut, random, needed)
    private val host    = first.host
    private val kinds   = mutable.Set[String]()
    private var traffic = Option.empty[ChainTraffic]
    private var cycles  = 0L
    dut.clockDomain.onSamplings {
      cycles += 1
      traffic.foreach(_.cycle())
    }

    var counts          = Counts()
    private var present = ""

    /** Returns the counts of all rounds so far, and the kind of the present round. */
    override def toString: String =
      s"$counts of ${kinds.size} kinds, $cycles cycles; in the last round: $present"

    def next(): Unit = {
      val packed   = packedBuild && random.nextBoolean()
      val choices  = Seq(EventIndex, Indirect, NotificationData).filter(_ => random.nextBoolean())
      val features = (choices ++ (if (packed) Seq(Packed) else Seq())).map(BigInt(1) << _)
      present = s"${if (packed) "packed" else "split"} rings, features ${choices.mkString(" ")}"
      round(new ConsoleDriver(dut, random, features.fold(needed)(_ | _), 0, Some(first)), packed)
    }

    private def round(driver: ConsoleDriver, packed: Boolean): Unit = {
      driver.initialise(2 << random.nextInt(4))
      order(driver)
      host.latency = 1 + random.nextInt(1 << random.nextInt(8))
      host.pauses = if (random.nextBoolean()) 0.05 else random.nextDouble() * 0.5
      val now    = new ChainTraffic(dut, driver, random, 1 + random.nextInt(Messages))
      val resets = random.nextInt(8) == 0
      var left   = if (resets) 1 + random.nextInt(20) else Int.MaxValue
      traffic = Some(now)
      while (!now.done) {
        sleep(200 * Period)
        left -= 1
        if (left <= 0) now.end()
      }
      traffic = None
      host.watch = () => ()
      val hostile = !resets && random.nextInt(4) > 0
      if (hostile) {
        present += ", and then a broken rule"
        kinds += new HostileChains(driver, random, packed, now).breakRule()
      }
      driver.reset()
      host.silent = true
      driver.step(50)
      now.collect()
      host.silent = false
      driver.memory.forget()
      counts = Counts(
        counts.chains + now.chains,
        counts.rounds + 1,
        counts.resets + (if (resets) 1 else 0),
        counts.hostile + (if (hostile) 1 else 0)
      )
    }

    /** Lets the indices begin anywhere. */
    private def order(driver: ConsoleDriver): Unit = {
      driver.queues.foreach(RandomChainsTest.order(_, random))
      val size = driver.receive.size
      if (random.nextBoolean()) driver.startAt(0x10000 - size * (1 + random.nextInt(4)))
    }
  }

  /** Lets a driver choose the descriptors of a new queue as one of the known drivers does, or at
    * random.
    */
  def order(queue: DriverQueue, random: Random): Unit = random.nextInt(5) match {
    case 0 => queue.inOrder(stacked = false)
    case 1 => queue.inOrder(stacked = true)
    case 2 => queue.inRuns()
    case 3 => queue.unguessable()
    case _ =>
  }

  val Messages = 150 // The most messages of a round.
  val Period   = 10
}
