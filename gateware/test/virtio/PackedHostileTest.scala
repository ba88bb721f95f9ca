// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import scala.language.reflectiveCalls
import spinal.core.sim._

import lanebox.virtio.vocabulary.{Violation, VirtioParam}
import lanebox.vocabulary.Seed

/** Tests that the console stops at every violation of the rules of packed rings, says which one it
  * was, and works again after a reset.
  */
class PackedHostileTest extends PackedBench {
  import PackedQueue.{Indirect, Next, Write}
  import VirtioRegisters._

  val Size = 16

  /** Tests that the device stops for `reason` after `act`, and makes no request until the reset. */
  def stops(
      name: String,
      reason: Violation.E,
      bits: BigInt = all,
      before: Int = 5
  )(act: ConsoleDriver => Unit): Unit =
    test(s"$name, seed ${Seed.value}") {
      run(name.replaceAll("[^a-z]+", "_"), bits) { driver =>
        for (round <- 0 to 1) {
          driver.host.silent = false
          driver.host.fails = 0
          driver.host.latency = 30
          driver.initialise(Size)
          if (round == 0) traffic(driver, before, 100)()
          driver.step(1000)
          act(driver)
          driver.until("NEEDS_RESET")((driver.read(Status) & 0x40) != 0)
          assert(driver.read(Reason) == reason.position)
          driver.step(200)
          driver.host.silent = true
          driver.notify(0)
          driver.notify(1)
          driver.step(500)
          driver.host.silent = false
          driver.reset()
        }
        driver.host.silent = false
        driver.host.fails = 0
        driver.host.latency = 30
        driver.initialise(Size)
        traffic(driver, 20, 100)()
      }
    }

  def buffer(driver: ConsoleDriver, bytes: Int = 64): (Long, Int) = {
    val at = driver.memory.make(bytes, 16)
    driver.memory.grant(at, bytes, 3)
    (at, bytes)
  }

  /** Puts descriptors, as (buffer, flags), and notifies the device of them. */
  def chain(driver: ConsoleDriver, n: Int)(entries: ((Long, Int), Int)*): Unit = {
    for ((place, flags) <- entries) ring(driver, n).put(place, flags, 7)
    driver.queues(n).publish()
    driver.notify(n)
  }

  def table(driver: ConsoleDriver, entries: Int = 1): (Long, Int) = {
    val place = buffer(driver, 16 * entries)
    for (i <- 0 until entries) driver.transmit.descriptor(place._1, i, buffer(driver), 0, 0)
    place
  }

  stops("a chain whose next descriptor is not there", Violation.nextEntry)(driver =>
    chain(driver, 1)((buffer(driver), Next))
  )
  stops(
    "a chain whose next descriptor is not there and is not notified of",
    Violation.nextEntry,
    features(VirtioParam.Packed)
  )(driver => chain(driver, 1)((buffer(driver), Next)))
  stops("a chain that is longer than the ring", Violation.endless) { driver =>
    val reads = driver.host.payloads
    driver.host.latency = 100
    chain(driver, 1)(Seq.fill(Size)((buffer(driver), Next)): _*)
    driver.until("a read of a buffer")(driver.host.payloads > reads)
    chain(driver, 1)((buffer(driver), 0))
  }
  stops("a table with more descriptors than the queue", Violation.endless)(driver =>
    chain(driver, 1)((table(driver, Size + 1), Indirect))
  )
  stops("a buffer of no bytes", Violation.empty)(driver =>
    chain(driver, 1)((buffer(driver), Next), ((buffer(driver)._1, 0), 0))
  )
  stops("a buffer to write in a transmit queue", Violation.direction)(driver =>
    chain(driver, 1)((buffer(driver), Write))
  )
  stops("a buffer to read in a receive queue", Violation.direction, before = 0) { driver =>
    chain(driver, 0)((buffer(driver), 0))
    driver.send(30)
    driver.transmit.publish()
    driver.notify(1)
  }
  stops("an indirect table with a next descriptor", Violation.indirect)(driver =>
    chain(driver, 1)((table(driver), Indirect | Next), (buffer(driver), 0))
  )
  stops("an indirect table behind another descriptor", Violation.indirect)(driver =>
    chain(driver, 1)((buffer(driver), Next), (table(driver), Indirect))
  )
  stops("an indirect table that is no multiple of its entries", Violation.indirect) { driver =>
    val (at, bytes) = table(driver, 2)
    chain(driver, 1)(((at, bytes - 8), Indirect))
  }
  stops("an indirect table of no entries", Violation.indirect)(driver =>
    chain(driver, 1)(((table(driver)._1, 0), Indirect))
  )
  stops(
    "an indirect table that was not agreed on",
    Violation.indirect,
    features(VirtioParam.Packed)
  )(driver => chain(driver, 1)((table(driver), Indirect)))
  for (bits <- Seq(all, features(VirtioParam.Packed)))
    stops(
      s"a read that the host does not answer, ${bits.bitCount} features",
      Violation.read,
      bits
    ) {
      driver =>
        driver.host.fails = 1
        driver.send(300)
        driver.transmit.publish()
        driver.notify(1)
    }
  stops("a buffer that cannot be read", Violation.read) { driver =>
    driver.send(300)
    driver.transmit.publish()
    driver.notify(1)
    val before = driver.host.payloads
    driver.until("a read of a buffer")(driver.host.payloads > before)
    driver.host.fails = 1
  }
  for (
    (name, offset, value) <- Seq(
      ("a ring", QueueDesc, 8L),
      ("the driver's events", QueueDriver, 2L),
      ("the device's events", QueueDevice, 2L),
      ("a ring of three descriptors and its number", QueueNum, 3L)
    )
  )
    stops(s"$name at a wrong place", Violation.setup) { driver =>
      driver.write(QueueSel, 0)
      driver.write(QueueReady, 0)
      driver.write(offset, value)
      driver.write(QueueReady, 1)
      assert(driver.read(QueueReady) == 0)
    }

  test(s"notifications of any place do no harm, seed ${Seed.value}") {
    run("places") { driver =>
      driver.initialise(Size)
      var left = 4000
      driver.host.watch = () => driver.collect()
      traffic(driver, 200, 300) {
        left -= 1
        if (driver.random.nextInt(3) == 0)
          driver.notify(driver.random.nextInt(2), driver.random.nextInt(0x10000))
        if (driver.random.nextInt(3) == 0) {
          val n = driver.random.nextInt(2)
          driver.notify(n, ring(driver, n).place(driver.random.nextInt(2 * Size)))
        }
        left < 0
      }
      assert((driver.read(Status) & 0x40) == 0)
    }
  }
}
