// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core._
import spinal.core.sim._

import lanebox.virtio.vocabulary.VirtioParam
import lanebox.vocabulary.{LaneboxSim, Seed}

/** Base of the test suites of the console: a console with small queues, and its traffic. */
abstract class ConsoleBench extends AnyFunSuite {
  val param    = ConsoleBench.param
  def compiled = ConsoleBench.compiled

  val needed                       = VirtioParam.Required | BigInt(1) << VirtioParam.AccessPlatform
  def features(bits: Int*): BigInt = bits.map(BigInt(1) << _).fold(needed)(_ | _)
  val all = features(VirtioParam.EventIndex, VirtioParam.Indirect, VirtioParam.NotificationData)

  def run(name: String, features: BigInt = all)(body: ConsoleDriver => Unit): Unit =
    compiled.doSim(name, Seed.value) { dut =>
      body(new ConsoleDriver(dut, new Random(simRandom.nextLong()), features))
    }

  /** Sends `chains` chains of up to `most` bytes, and waits until all bytes have come back. Stops
    * earlier if `stop` says so. The driver looks at a queue only after its interrupt.
    */
  def traffic(driver: ConsoleDriver, chains: Int, most: Int)(stop: => Boolean = false): Unit = {
    import driver.{random, receive, received, sent, transmit}
    val ends = mutable.ArrayBuffer[Int]()
    var idle = 0
    // A driver that polls takes a buffer back as soon as it is used. The device must not write to
    // it any more.
    val polls = random.nextBoolean()
    driver.host.watch = () => if (polls) driver.collect()
    def open = ends.size < chains
    while (!stop && (open || received.size < sent.size)) {
      val before = (sent.size, received.size)
      // The frame store must not become full: chains would be dropped.
      val inside = ends.count(_ > received.size)
      if (
        open && random.nextBoolean() && transmit.room >= 4 && inside < 100 &&
        sent.size - received.size < 6000
      ) {
        driver.send(most)
        ends += sent.size
      }
      if (random.nextBoolean() && receive.room >= 4) driver.offer(most)
      if (!open || random.nextInt(3) == 0) driver.publish(1)
      if (!open || random.nextInt(3) == 0) driver.publish(0)
      for (queue <- driver.queues if random.nextInt(20) == 0) {
        queue.forbidInterrupts(true)
        driver.step(random.nextInt(200))
        queue.forbidInterrupts(false)
        driver.collect()
      }
      driver.onInterrupts(0)
      driver.step(random.nextInt(40))
      idle = if (before == (sent.size, received.size)) idle + 1 else 0
      assert(idle < 1000, s"${received.size} of ${sent.size} bytes came back, and no more")
    }
    if (!stop) assert(received == sent, "other bytes came back")
  }
}

object ConsoleBench {
  val param = VirtioParam.console.copy(queueSize = 16, patience = 200)

  /** The simulation of the console, which suites in one Java virtual machine share. */
  lazy val compiled = LaneboxSim {
    val dut = VirtioDevices(Seq(param))
    indices(dut).foreach(_.simPublic())
    dut
  }

  /** The registers with the indices of all queues. */
  def indices(dut: VirtioDevices): Seq[UInt] =
    Seq(dut.engine.transmit, dut.engine.receive).flatMap { way =>
      val state = way.runner.state
      Seq(state.taken, state.known, state.used, state.told, way.heads.state.next).flatten ++
        (if (dut.p.packed) {
           val reader = way.packed.state
           Seq(reader.next, reader.stored, reader.taken).flatten
         } else Seq())
    }
}
