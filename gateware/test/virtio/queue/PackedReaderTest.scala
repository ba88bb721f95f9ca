// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.queue

import scala.language.reflectiveCalls
import spinal.core.sim._

import lanebox.virtio.vocabulary.VirtioParam
import lanebox.virtio.{ConsoleDriver, PackedBench}
import lanebox.vocabulary.Seed

/** Tests how many reads of host memory wait for each other between the notification of a message in
  * a packed ring and the interrupt of its answer, and how many reads descriptors take.
  */
class PackedReaderTest extends PackedBench {
  import VirtioParam.{EventIndex, NotificationData, Packed}

  val Bytes = 64

  def message(driver: ConsoleDriver): Unit = {
    val data = Seq.fill(Bytes)(driver.random.nextInt().toByte)
    val at   = driver.memory.make(Bytes, 64)
    driver.memory.put(at, data)
    driver.sent ++= data
    driver.transmit.add(Seq((at, Bytes)))
  }

  /** Returns the cycles from the notification to the interrupt, for messages one at a time. */
  def echoes(driver: ConsoleDriver, latency: Int, count: Int): Seq[Int] = {
    driver.host.latency = latency
    for (_ <- 0 until count) yield {
      driver.step(2000)
      driver.collect()
      driver.interrupts(0)
      driver.receive.wantInterrupt(0)
      message(driver)
      assert(driver.transmit.publish(), "the device does not ask for a notification")
      driver.notify(1)
      var cycles = 0
      driver.until("the interrupt") {
        cycles += 1
        driver.interrupts(0) > 0
      }
      driver.collect()
      assert(driver.received == driver.sent, "other bytes came back")
      cycles
    }
  }

  for (
    (name, bits, most) <- Seq(
      ("without its place in the notification", Seq(EventIndex), 48),
      ("with its place in the notification", Seq(EventIndex, NotificationData), 37)
    )
  )
    test(s"an echo for a driver $name waits for 2 reads, seed ${Seed.value}") {
      run(name.replace(' ', '_'), features(Packed +: bits: _*)) { driver =>
        driver.initialise(16)
        driver.host.steady = true
        offerAll(driver)
        val near  = echoes(driver, 10, 3)
        val far   = echoes(driver, 210, 3)
        val slope = (far.sum - near.sum) / 3.0 / 200
        assert(math.abs(slope - 2) < 0.05, s"$slope reads, $near $far")
        val own = near.sum / 3 - 10 * 2
        println(s"$own cycles for an echo to a driver $name")
        assert(own <= most, s"$own cycles of the device")
      }
    }

  test(s"a line of descriptors takes one read, seed ${Seed.value}") {
    run("lines", features(Packed, EventIndex, NotificationData)) { driver =>
      driver.host.steady = true
      driver.host.latency = 150
      driver.initialise(16)
      offerAll(driver)
      driver.step(1000)
      for (_ <- 0 until 5) {
        val before = driver.host.heads(1)
        for (_ <- 0 until 16) message(driver)
        driver.transmit.publish()
        driver.notify(1)
        driver.until("all bytes") {
          driver.collect()
          if (driver.receive.room > 0) offerAll(driver)
          driver.received.size >= driver.sent.size && driver.transmit.chains.isEmpty
        }
        driver.step(1000)
        // Two lines of eight descriptors, and a look behind them.
        assert(driver.host.heads(1) - before == 3)
      }
    }
  }
}
