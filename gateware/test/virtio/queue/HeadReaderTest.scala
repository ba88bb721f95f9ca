// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.queue

import scala.language.reflectiveCalls
import spinal.core.sim._

import lanebox.virtio.vocabulary.VirtioParam
import lanebox.virtio.{ConsoleBench, ConsoleDriver, VirtioRegisters}
import lanebox.vocabulary.Seed

/** Tests how many reads of host memory wait for each other between the notification of a message
  * and the interrupt of its answer, and how many cycles the device adds.
  */
class HeadReaderTest extends ConsoleBench {
  import VirtioParam.{EventIndex, NotificationData}
  import VirtioRegisters._

  val Bytes = 64

  /** Returns the cycles from the notification to the interrupt, for messages one at a time. */
  def echoes(driver: ConsoleDriver, latency: Int, count: Int): Seq[Int] = {
    driver.host.latency = latency
    for (_ <- 0 until count) yield {
      driver.step(2000)
      driver.collect()
      driver.interrupts(0)
      driver.receive.wantInterrupt(0)
      val data = Seq.fill(Bytes)(driver.random.nextInt().toByte)
      val at   = driver.memory.make(Bytes, 64)
      driver.memory.put(at, data)
      driver.sent ++= data
      driver.transmit.add(Seq((at, Bytes)))
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

  def offerAll(driver: ConsoleDriver): Unit = {
    while (driver.receive.room > 0)
      driver.receive.add(Seq((driver.memory.make(256, 64), 256)))
    driver.publish(0)
  }

  /** A kind of driver: its features, whether its heads can be guessed, the reads that wait
    * for each other, and the most cycles that the device may take beside the host.
    */
  for (
    (name, bits, guessable, reads, most) <- Seq(
      ("without the index in its notification", Seq(EventIndex), false, 4, 42),
      ("with the index in its notification", Seq(EventIndex, NotificationData), false, 3, 34),
      ("whose heads follow one another", Seq(EventIndex, NotificationData), true, 2, 32)
    )
  )
    test(s"an echo for a driver $name waits for $reads reads, seed ${Seed.value}") {
      run(name.replace(' ', '_'), features(bits: _*)) { driver =>
        driver.initialise(16)
        driver.host.steady = true
        driver.receive.inOrder(stacked = false)
        if (guessable) driver.transmit.inOrder(stacked = driver.random.nextBoolean())
        else driver.transmit.unguessable()
        offerAll(driver)
        // In the first echoes the device learns how the driver chooses its heads.
        echoes(driver, 10, 3)
        val near  = echoes(driver, 10, 3)
        val far   = echoes(driver, 210, 3)
        val slope = (far.sum - near.sum) / 3.0 / 200
        assert(math.abs(slope - reads) < 0.05, s"$slope reads, $near $far")
        val own = near.sum / 3 - 10 * reads
        println(s"$own cycles for an echo to a driver $name")
        assert(own <= most, s"$own cycles of the device")
      }
    }

  /** Adds `count` messages of `Bytes` bytes, and notifies the device of them. */
  def batch(driver: ConsoleDriver, count: Int): Unit = {
    for (_ <- 0 until count) {
      val data = Seq.fill(Bytes)(driver.random.nextInt().toByte)
      val at   = driver.memory.make(Bytes, 64)
      driver.memory.put(at, data)
      driver.sent ++= data
      driver.transmit.add(Seq((at, Bytes)))
    }
    driver.transmit.publish()
    driver.notify(1)
  }

  def answered(driver: ConsoleDriver): Unit = {
    driver.until("all bytes") {
      driver.collect()
      if (driver.receive.room > 0) offerAll(driver)
      driver.received.size >= driver.sent.size
    }
    assert(driver.received == driver.sent, "other bytes came back")
  }

  test(s"a line of heads that follow one another takes two reads, seed ${Seed.value}") {
    run("lines", features(EventIndex, NotificationData)) { driver =>
      driver.host.steady = true
      driver.host.latency = 150
      driver.initialise(16)
      driver.queues.foreach(_.inOrder(stacked = false))
      offerAll(driver)
      driver.step(1000)
      for (_ <- 0 until 5) {
        val before = driver.host.heads(1)
        batch(driver, 16)
        answered(driver)
        driver.until("the used chains") { driver.collect(); driver.transmit.chains.isEmpty }
        // Two lines of eight entries, and the descriptors of each.
        assert(driver.host.heads(1) - before == 4)
      }
    }
  }

  test(s"heads that follow one another in runs are all right, seed ${Seed.value}") {
    run("runs", features(EventIndex, NotificationData)) { driver =>
      for (round <- 0 until 25) {
        driver.host.silent = false
        driver.host.steady = round % 2 == 0
        driver.host.latency = 2 + driver.random.nextInt(if (round % 4 < 2) 150 else 8)
        val size = 1 << (1 + driver.random.nextInt(4))
        driver.initialise(size)
        for (_ <- 0 until 12) {
          driver.queues.foreach(queue => if (queue.room == size) queue.inRuns())
          offerAll(driver)
          batch(driver, 1 + driver.random.nextInt(driver.transmit.room))
          if (driver.random.nextBoolean()) driver.step(driver.random.nextInt(300))
          if (driver.transmit.room > 0) batch(driver, 1)
          answered(driver)
          driver.until("the used chains") { driver.collect(); driver.transmit.chains.isEmpty }
        }
        driver.reset()
      }
    }
  }

  test(s"what was read for a queue before it was set up anew is dropped, seed ${Seed.value}") {
    run("stale", features(EventIndex, NotificationData)) { driver =>
      import driver.{host, random}
      for (_ <- 0 until 60) {
        host.silent = false
        host.steady = true
        host.latency = 60 + random.nextInt(200)
        driver.initialise(16)
        def choose(): Unit =
          if (random.nextBoolean()) driver.transmit.inOrder(stacked = false)
          else driver.transmit.unguessable()
        choose()
        offerAll(driver)
        driver.step(1000)
        batch(driver, 1 + random.nextInt(16))
        // No head has come yet, so no chain begins.
        driver.step(random.nextInt(host.latency - 10))
        driver.sent.clear()
        driver.write(QueueSel, 1)
        driver.write(QueueReady, 0)
        // The driver may write anything to the addresses. A read there fails.
        for (offset <- Seq(QueueDesc, QueueDriver, QueueDevice))
          driver.write(offset, 0x1000L * random.nextInt(16))
        def nothingComes(cycles: Int): Unit = {
          val before = host.heads(1)
          driver.step(cycles)
          assert(host.heads(1) == before, "a read for a queue without chains")
        }
        if (random.nextInt(3) == 0) nothingComes(random.nextInt(host.latency))
        driver.setUpAnew(1, 16)
        if (random.nextBoolean()) nothingComes(random.nextInt(host.latency))
        choose()
        batch(driver, 1 + random.nextInt(16))
        answered(driver)
        driver.reset()
      }
    }
  }
}
