// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import scala.language.reflectiveCalls
import spinal.core.sim._

import lanebox.virtio.vocabulary.VirtioParam
import lanebox.vocabulary.Seed

/** Tests that what a driver sends to the console comes back, byte for byte and in order, whatever
  * the chains look like, and that no notification and no interrupt is lost.
  */
class VirtioConsoleTest extends ConsoleBench {
  import VirtioParam._
  import VirtioRegisters._

  val choices = Seq(EventIndex, Indirect, NotificationData)
  for (n <- 0 to choices.size; bits <- choices.combinations(n))
    test(s"random chains come back, features ${bits.mkString(" ")}, seed ${Seed.value}") {
      run(s"echo${bits.mkString("_")}", features(bits: _*)) { driver =>
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

  // The driver says that its table has this many bytes, and uses the first descriptors of it.
  for (bytes <- Seq(0xffff0, 0x100000, 0x100010, 0x1000000))
    test(s"a chain may have an indirect table of $bytes bytes, seed ${Seed.value}") {
      run(s"table$bytes") { driver =>
        import driver.{memory, transmit}
        driver.initialise(16)
        for (round <- 1 to 4) {
          val parts = driver.buffers(3, 30 + driver.random.nextInt(200))
          for ((at, size) <- parts) {
            memory.put(at, Seq.fill(size)(driver.random.nextInt().toByte))
            driver.sent ++= memory.get(at, size)
          }
          val head = transmit.add(parts, indirect = true)
          memory.put(transmit.descriptors + 16 * head + 8, BigInt(bytes), 4)
          driver.publish(1)
          driver.until(s"the bytes of round $round") {
            if (driver.receive.room >= 4) driver.offer(100)
            driver.publish(0)
            driver.collect()
            driver.received.size == driver.sent.size
          }
        }
        assert(driver.received == driver.sent, "other bytes came back")
      }
    }

  test(s"indices wrap, seed ${Seed.value}") {
    run("wrap") { driver =>
      driver.initialise(4)
      driver.step(500)
      driver.startAt(0xfff0)
      traffic(driver, 60, 30)()
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

  test(s"a queue that is set up anew gives no chain of its old rings, seed ${Seed.value}") {
    run("exchange") { driver =>
      for (_ <- 0 until 40) {
        driver.host.silent = false
        driver.host.steady = true
        driver.host.latency = 20
        driver.initialise(16)
        driver.step(300)
        driver.host.latency = 200
        // HeadReader reads the chain that is sent here, of the old rings.
        driver.send(40, parts = 1)
        driver.publish(1)
        driver.step(driver.random.nextInt(300))
        driver.exchange(1)
        val before = driver.sent.size
        driver.send(40, parts = 1)
        driver.publish(1)
        driver.until("the chain of the new rings")(driver.transmit.unseen)
        driver.collect()
        // The chain of the old rings has come back, or it was given up.
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

  test(s"a driver that takes nothing does not hold its own sending up, seed ${Seed.value}") {
    run("full") { driver =>
      driver.initialise(16)
      while (driver.sent.size < 3 * 32 * param.rows) {
        driver.send(900)
        driver.publish(1)
        driver.until("the end of a chain")(driver.transmit.unseen)
        driver.onInterrupts(0)
        driver.collect()
      }
      val dropped = driver.read(Dropped)
      val kept    = driver.sent.size - dropped
      assert(dropped > 0 && kept > 24 * param.rows, s"$dropped of ${driver.sent.size}")
      while (driver.received.size < kept) {
        while (driver.receive.room >= 4) driver.offer(900)
        driver.publish(0)
        driver.until("a used buffer")(driver.receive.unseen)
        driver.collect()
      }
      val same = driver.received.zip(driver.sent).takeWhile { case (a, b) => a == b }.size
      assert(same > 16 * param.rows && driver.read(Dropped) == dropped)
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

  // The reads: available index, entry and descriptor of the chain, then event index and available
  // index. NOTIFICATION_DATA saves the first one. Without EVENT_IDX no event index is read.
  for (
    (reads, bits) <- Seq(
      4 -> Seq(),
      3 -> Seq(NotificationData),
      5 -> Seq(EventIndex),
      4 -> Seq(EventIndex, NotificationData)
    )
  )
    test(
      s"a chain alone takes $reads reads beside its data, features ${bits.mkString(" ")}, " +
        s"seed ${Seed.value}"
    ) {
      run(s"reads${bits.mkString("_")}", features(bits: _*)) { driver =>
        driver.initialise(16)
        driver.transmit.inOrder(stacked = driver.random.nextBoolean())
        for (n <- 0 until 20) {
          driver.step(500)
          val before = driver.host.reads - driver.host.payloads
          driver.interrupts(1)
          driver.send(100, parts = 1)
          driver.publish(1)
          driver.until("the interrupt")(driver.interrupts(1) > 0)
          driver.step(500)
          // If the device has guessed another head, it reads a second descriptor.
          val came = driver.host.reads - driver.host.payloads - before
          assert(if (n < 2) came <= reads + 1 else came == reads)
          driver.collect()
          driver.transmit.wantInterrupt(0)
        }
      }
    }

  test("the device asks for the first notification, whatever the ring held") {
    run("first") { driver =>
      driver.initialise(16, ok = false)
      val events = driver.queues.map(queue => queue.used + 4 + 8 * queue.size)
      events.foreach(driver.memory.put(_, BigInt(0x1234), 2))
      driver.write(Status, 15)
      driver.until("the event indices")(events.forall(driver.memory.number(_, 2) == 0))
    }
  }

  test(s"with event indices a driver is left alone soon after it asks, seed ${Seed.value}") {
    run("event") { driver =>
      driver.initialise(16)
      driver.step(300)
      driver.host.interrupts(1) = 0
      driver.transmit.wantInterrupt(9)
      for (n <- 1 to 12) {
        driver.send(40)
        driver.publish(1)
        driver.until("the used index")(driver.memory.number(driver.transmit.used + 2, 2) == n)
        driver.step(500)
        driver.collect()
        // If the driver wanted an interrupt, the device also sends the next one, before it has read
        // whether the driver wants that one.
        val wanted = if (n < 10) 0 else if (n == 10) 1 else 2
        assert(driver.host.interrupts(1) == wanted, s"after $n chains")
      }
    }
  }
}
