// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.queue

import scala.collection.mutable
import scala.language.reflectiveCalls
import spinal.core._
import spinal.core.sim._

import lanebox.virtio.{ConsoleBench, ConsoleDriver}
import lanebox.vocabulary.Seed

/** Tests notifications whose available index is older than what the device knows: a driver on
  * several processors may notify in another order than it has published. Other indices lie.
  */
class NotifiedIndexTest extends ConsoleBench {
  private val Size = 16

  /** Returns how far `index` is ahead of `old`, by the bits that the register `known` has. */
  private def ahead(index: Int, old: Int, known: UInt): Int =
    (index - old) & ((1 << known.getWidth) - 1)

  /** Takes back what the device has used, and offers buffers for what still comes. */
  private def makeRoom(driver: ConsoleDriver): Unit = {
    driver.collect()
    while (driver.receive.room >= 4) driver.offer(100)
    driver.publish(0)
  }

  test(s"the available index that the device knows never goes back, seed ${Seed.value}") {
    run("late") { driver =>
      driver.host.steady = true
      driver.initialise(Size)
      makeRoom(driver)
      driver.step(500)
      // The runner's registers of the transmit queue: chains taken, and the index that is known.
      val Seq(taken, known, _*) = driver.indices
      var before                = known.toInt
      driver.everyCycle {
        val now = known.toInt
        assert(ahead(now, before, known) <= Size, s"from $before to $now")
        assert(ahead(now, taken.toInt, known) <= Size, s"$now beyond ${taken.toInt}")
        before = known.toInt
      }
      val untold = mutable.ArrayBuffer[Int]() // Indices that the driver has yet to notify of.
      for (_ <- 0 until 400) {
        driver.host.latency = 5 + driver.random.nextInt(40)
        for (_ <- 0 to driver.random.nextInt(4) if driver.transmit.room > 0) {
          driver.send(40, parts = 1)
          driver.transmit.publish()
          untold += driver.transmit.availableIndex
          driver.step(driver.random.nextInt(30))
        }
        while (untold.nonEmpty) {
          driver.notify(1, untold.remove(driver.random.nextInt(untold.size)))
          driver.step(1 + driver.random.nextInt(if (driver.random.nextBoolean()) 3 else 60))
        }
        if (driver.random.nextBoolean()) driver.step(300)
        makeRoom(driver)
      }
      // The receive buffers are small and of many parts, so a full frame store empties slowly.
      driver.until("all bytes", cycles = 200000) {
        makeRoom(driver)
        driver.received.size == driver.sent.size
      }
      assert(driver.received == driver.sent, "other bytes came back")
    }
  }

  test(s"an index beyond the queue in a notification is ignored, seed ${Seed.value}") {
    run("lies") { driver =>
      import driver.{random, transmit}
      driver.host.steady = true
      driver.initialise(Size)
      driver.step(500)
      // The indices wrap in the test.
      driver.startAt(0x10000 - random.nextInt(100))
      makeRoom(driver)
      val Seq(_, known, _*) = driver.indices
      driver.everyCycle {
        val unknown = ahead(transmit.availableIndex, known.toInt, known)
        assert(unknown <= Size, s"${known.toInt} beyond ${transmit.availableIndex}")
      }
      for (_ <- 0 until 200) {
        driver.host.latency = 5 + random.nextInt(40)
        for (_ <- 0 to random.nextInt(3) if transmit.room > 0) driver.send(40, parts = 1)
        transmit.publish()
        for (_ <- 0 to random.nextInt(3)) {
          // The lowest bits are often those of an index that the device would believe.
          val turns = random.nextInt(0x10000) & (if (random.nextBoolean()) -2 * Size else -1)
          val lie   = (transmit.availableIndex + turns + random.nextInt(Size)) & 0xffff
          val more  = (lie - transmit.availableIndex) & 0xffff
          driver.notify(1, if (more == 0 || more > Size) lie else transmit.availableIndex)
          driver.step(1 + random.nextInt(if (random.nextBoolean()) 3 else 60))
        }
        makeRoom(driver)
      }
      driver.until("all bytes", cycles = 200000) {
        makeRoom(driver)
        driver.received.size == driver.sent.size
      }
      assert(driver.received == driver.sent, "other bytes came back")
    }
  }
}
