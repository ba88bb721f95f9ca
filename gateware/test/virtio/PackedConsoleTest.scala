// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import scala.language.reflectiveCalls
import spinal.core.sim._

import lanebox.virtio.vocabulary.VirtioParam
import lanebox.vocabulary.Seed

/** Tests that what a driver with packed rings sends to the console comes back, byte for byte and in
  * order, whatever its chains look like, and that no notification and no interrupt is lost.
  */
class PackedConsoleTest extends PackedBench {
  import VirtioParam._

  val choices = Seq(EventIndex, Indirect, NotificationData)
  for (n <- 0 to choices.size; bits <- choices.combinations(n))
    test(s"random chains come back, features ${bits.mkString(" ")}, seed ${Seed.value}") {
      run(s"echo${bits.mkString("_")}", features(Packed +: bits: _*)) { driver =>
        driver.host.pauses = driver.random.nextDouble() * 0.6
        driver.host.latency = 1 + driver.random.nextInt(150)
        driver.initialise(1 << (2 + driver.random.nextInt(3)))
        traffic(driver, 150, 600)()
      }
    }

  test(s"large chains come back, seed ${Seed.value}") {
    run("large") { driver =>
      driver.initialise(16)
      traffic(driver, 20, 5000)()
    }
  }

  for (size <- Seq(4, 16); start <- Seq(0xfff0, 0x7ff0))
    test(s"indices wrap with $size descriptors from $start on, seed ${Seed.value}") {
      run(s"wrap$size") { driver =>
        driver.initialise(size)
        driver.step(500)
        driver.startAt(start)
        traffic(driver, 60, 30)()
      }
    }

  test(s"a driver of the same device may have split rings, seed ${Seed.value}") {
    run("split", all & ~features(Packed) | needed) { driver =>
      driver.initialise(16)
      traffic(driver, 100, 300)()
    }
  }

  test(s"a reset in the middle ends everything before it is answered, seed ${Seed.value}") {
    run("reset") { driver =>
      for (_ <- 0 until 40) {
        driver.host.silent = false
        driver.host.latency = 2 + driver.random.nextInt(200)
        driver.initialise(16)
        var left = driver.random.nextInt(40)
        traffic(driver, 1000, 300) { left -= 1; left < 0 }
        driver.reset()
        driver.step(driver.random.nextInt(400))
        assert(driver.host.interrupts.sum == 0, "an interrupt after the reset")
      }
      driver.host.silent = false
      driver.initialise(16)
      traffic(driver, 30, 300)()
    }
  }

  test(s"a reset in any cycle of an answer in several buffers ends it, seed ${Seed.value}") {
    run("cycles") { driver =>
      driver.host.steady = true
      driver.host.latency = 4
      for (cycle <- 0 until 180) {
        driver.host.silent = false
        driver.initialise(16)
        driver.receive.add(driver.buffers(4, 64))
        driver.receive.add(driver.buffers(1, 64))
        driver.publish(0)
        for (_ <- 0 to cycle % 3) driver.send(40, parts = 1)
        driver.step(100)
        driver.publish(1)
        driver.step(cycle)
        driver.reset()
        driver.step(40)
      }
    }
  }

  test(s"a queue that is set up anew gives no chain of its old ring, seed ${Seed.value}") {
    run("exchange") { driver =>
      for (_ <- 0 until 40) {
        driver.host.silent = false
        driver.host.steady = true
        driver.host.latency = 20
        driver.initialise(16)
        driver.step(300)
        driver.host.latency = 200
        // PackedReader reads the chain that is sent here, of the old ring.
        driver.send(40, parts = 1)
        driver.publish(1)
        driver.step(driver.random.nextInt(300))
        driver.exchange(1)
        val before = driver.sent.size
        driver.send(40, parts = 1)
        driver.publish(1)
        driver.until("the chain of the new ring")(driver.transmit.unseen)
        driver.collect()
        // The chain of the old ring has come back, or it was given up.
        while (driver.receive.room >= 4) driver.offer(100)
        driver.publish(0)
        driver.step(3000)
        driver.collect()
        val whole = driver.received.size == driver.sent.size
        assert(driver.received == (if (whole) driver.sent else driver.sent.drop(before)))
        driver.host.latency = 20
        driver.reset()
      }
    }
  }

  test(s"a device without work is not busy and reads nothing, seed ${Seed.value}") {
    run("idle") { driver =>
      driver.initialise(16)
      traffic(driver, 20, 100)()
      while (driver.receive.room >= 4) driver.offer(100)
      driver.publish(0)
      driver.step(3000)
      val before = (driver.host.reads, driver.host.writes)
      for (_ <- 0 until 500) {
        driver.step()
        assert(!driver.busy)
      }
      assert((driver.host.reads, driver.host.writes) == before)
    }
  }

  test(s"a driver that wants no interrupt gets one more at the most, seed ${Seed.value}") {
    run("silence") { driver =>
      driver.initialise(16)
      driver.step(500)
      for (silent <- Seq(false, true)) {
        for (n <- 0 until 6) {
          ring(driver, 1).silence(silent)
          driver.interrupts(1)
          driver.send(40, parts = 1)
          driver.publish(1)
          driver.until("a used chain")(driver.transmit.unseen)
          driver.step(500)
          driver.collect()
          // The device sends the first one before it has read that none is wanted.
          val came = driver.interrupts(1)
          assert(if (silent) came == 0 || (n == 0 && came == 1) else came == 1, s"$silent, $n")
        }
      }
    }
  }

  test(s"with event indices a driver is left alone soon after it asks, seed ${Seed.value}") {
    run("event") { driver =>
      driver.initialise(16)
      driver.step(300)
      driver.host.interrupts(1) = 0
      driver.transmit.wantInterrupt(19)
      for (n <- 1 to 22) {
        driver.send(40)
        driver.publish(1)
        driver.until("a used chain")(driver.transmit.unseen)
        driver.step(500)
        driver.collect()
        while (driver.receive.room >= 4) driver.offer(100)
        driver.publish(0)
        driver.collect()
      }
      // The driver's place was passed once, and the device sends the next interrupt early, too.
      assert((1 to 2).contains(driver.host.interrupts(1)), s"${driver.host.interrupts(1)}")
    }
  }
}
