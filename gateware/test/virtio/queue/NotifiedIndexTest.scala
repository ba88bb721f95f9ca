// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.queue

import scala.collection.mutable
import scala.language.reflectiveCalls
import spinal.core.sim._

import lanebox.virtio.{ConsoleBench, ConsoleDriver}
import lanebox.vocabulary.Seed

/** Tests notifications whose available index is older than what the device knows: a driver on
  * several processors may notify in another order than it has published.
  */
class NotifiedIndexTest extends ConsoleBench {
  private def behind(index: Int, old: Int): Int = (index - old) & 0xffff

  /** Takes back what the device has used, and offers buffers for what still comes. */
  private def makeRoom(driver: ConsoleDriver): Unit = {
    driver.collect()
    while (driver.receive.room >= 4) driver.offer(100)
    driver.publish(0)
  }

  test(s"the available index that the device knows never goes back, seed ${Seed.value}") {
    run("late") { driver =>
      driver.host.steady = true
      driver.initialise(16)
      makeRoom(driver)
      driver.step(500)
      // The runner's registers of the transmit queue: chains taken, and the index that is known.
      val Seq(taken, known, _*) = driver.indices
      var before                = known.toInt
      driver.everyCycle {
        assert(behind(known.toInt, before) <= 16, s"from $before to ${known.toInt}")
        assert(behind(known.toInt, taken.toInt) <= 16, s"${known.toInt} beyond ${taken.toInt}")
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
}
