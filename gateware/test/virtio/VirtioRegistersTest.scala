// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.virtio.vocabulary.{Violation, VirtioParam}
import lanebox.vocabulary.{Numbers, Seed}

/** Tests that the page of the console has the registers of virtio-mmio version 2 (VirtIO 1.2,
  * 4.2.2), and that what a driver must not write has no effect.
  */
class VirtioRegistersTest extends ConsoleBench {
  import VirtioRegisters._

  def offered(driver: ConsoleDriver, word: Int): Long = {
    driver.write(DeviceFeaturesSel, word)
    driver.read(DeviceFeatures)
  }
  def accept(driver: ConsoleDriver, features: BigInt): Boolean = {
    driver.write(Status, 3)
    for (half <- 0 to 1) {
      driver.write(DriverFeaturesSel, half)
      driver.write(DriverFeatures, ((features >> (32 * half)) & 0xffffffffL).toLong)
    }
    driver.write(Status, 11)
    (driver.read(Status) & 8) != 0
  }

  test("the page identifies the device, and has its configuration") {
    run("identity") { driver =>
      val expected = Seq(
        0x000 -> Numbers.VirtioMagic,
        0x004 -> 2,
        0x008 -> 3,
        0x00c -> Numbers.VirtioVendor,
        0x0fc -> 0,
        0x100 -> (25 << 16 | 80),
        0x104 -> 1
      )
      for ((offset, value) <- expected) assert(driver.read(offset) == value, f"at $offset%x")
      assert(driver.read(ShmLength) == 0xffffffffL && driver.read(ShmLengthTop) == 0xffffffffL)
      driver.write(Config, 7)
      assert(driver.read(Config) == (25 << 16 | 80), "the configuration is not the driver's")
      val words = Seq(0, 1, 2, 0x40000001).map(offered(driver, _))
      assert(words == Seq(
        (param.features & 0xffffffffL).toLong,
        (param.features >> 32).toLong,
        0,
        0
      ))
    }
  }

  test("only features that were offered are accepted, with VERSION_1 among them") {
    run("features") { driver =>
      for (bit <- 0 until 64) {
        val wanted = needed | BigInt(1) << bit
        assert(accept(driver, wanted) == ((wanted & ~param.features) == 0), s"feature $bit")
        driver.reset()
      }
      assert(!accept(driver, 0) && !accept(driver, 1))
      assert(accept(driver, needed))
      driver.write(DriverFeatures, 0)
      driver.write(Status, 15)
      assert(driver.read(Status) == 15, "features are frozen with FEATURES_OK")
    }
  }

  test("a queue that does not exist has size 0, and a notification of it does nothing") {
    run("queues") { driver =>
      driver.initialise(16)
      for (n <- Seq(2, 3, 0x10000, 0x7fffffff)) {
        driver.write(QueueSel, n)
        assert(driver.read(QueueNumMax) == 0 && driver.read(QueueReady) == 0)
        driver.write(QueueReady, 1)
        assert(driver.read(QueueReady) == 0)
      }
      for (n <- 0 to 1) {
        driver.write(QueueSel, n)
        assert(driver.read(QueueNumMax) == param.queueSize && driver.read(QueueReady) == 1)
      }
      driver.step(500)
      val before = driver.host.reads
      for (n <- Seq(2, 3, 0xffff)) driver.write(QueueNotify, n)
      driver.step(200)
      assert(driver.host.reads == before && driver.read(Status) == 15)
    }
  }

  test("addresses and size of a ready queue stay as they are") {
    run("ready") { driver =>
      driver.initialise(16)
      for (n <- 0 to 1) {
        driver.write(QueueSel, n)
        for (offset <- Seq(QueueNum, QueueDesc, QueueDriver + 4, QueueDevice))
          driver.write(offset, 3)
        driver.write(QueueReady, 1)
      }
      assert(driver.read(Status) == 15)
      traffic(driver, 20, 100)()
    }
  }

  test("the interrupt status says what came, until it is acknowledged") {
    run("interrupts") { driver =>
      driver.initialise(16)
      assert(driver.read(InterruptStatus) == 0)
      driver.send(20)
      driver.publish(1)
      driver.until("the interrupt")(driver.interrupts(1) > 0)
      driver.step(2)
      assert(driver.read(InterruptStatus) == 1)
      driver.write(InterruptAck, 2)
      assert(driver.read(InterruptStatus) == 1)
      driver.write(InterruptAck, 1)
      assert(driver.read(InterruptStatus) == 0)
    }
  }

  test(s"an interrupt in the cycle of an acknowledgement stays, seed ${Seed.value}") {
    compiled.doSim("acknowledged", Seed.value) { dut =>
      val driver = new ConsoleDriver(dut, new Random(simRandom.nextLong()), needed)
      driver.host.steady = true
      driver.initialise(16)
      var now, came, told = 0 // The present cycle, that of the cause, and that of the write.
      driver.everyCycle {
        val page = dut.io.registers(0)
        now += 1
        if (page.write.toBoolean && page.address.toInt == InterruptAck / 4) told = now
        if ((dut.io.causes.toInt >> 1 & 1) == 1) came = now
      }
      var delay = 50
      val seen  = mutable.Set[Int]()
      for (n <- 0 until 40) {
        val buffers = driver.buffers(1, 24)
        driver.memory.put(buffers.head._1, Seq.fill(24)(n.toByte))
        driver.transmit.add(buffers, false)
        val start = now
        driver.publish(1)
        driver.step(delay)
        driver.write(InterruptAck, 1)
        driver.until("the interrupt")(came > start)
        driver.step(50)
        val behind = told - (came - 1) // The status rises a cycle before the cause.
        seen += behind
        val status = driver.read(InterruptStatus)
        assert(status == (if (behind > 0) 0 else 1), s"acknowledged $behind cycles behind")
        driver.write(InterruptAck, 1)
        driver.collect()
        delay = (delay + n % 5 - 2 - behind) max 1
      }
      assert((-1 to 1).forall(seen), s"acknowledged $seen cycles behind")
    }
  }

  test("a reset clears an interrupt status that was not acknowledged") {
    run("forgotten") { driver =>
      driver.initialise(16)
      driver.send(20)
      driver.publish(1)
      driver.until("the interrupt")(driver.interrupts(1) > 0)
      driver.step(2)
      assert(driver.read(InterruptStatus) == 1)
      driver.reset()
      assert(driver.read(InterruptStatus) == 0)
    }
  }

  val agreed = features(VirtioParam.RingReset, VirtioParam.NotificationData)

  test("without RING_RESET the register QueueReset reads 0 and does nothing") {
    run("without_reset", features(VirtioParam.NotificationData)) { driver =>
      driver.initialise(16)
      for (n <- 0 to 1) {
        driver.askForReset(n)
        for (_ <- 0 until 30)
          assert(driver.read(QueueReset) == 0 && driver.read(QueueReady) == 1)
      }
      traffic(driver, 20, 100)()
    }
  }

  test("the reset of a queue goes on until its reads have ended, and nothing changes the queue") {
    run("ring_reset", agreed) { driver =>
      for (n <- 0 to 1; other = 1 - n) {
        driver.initialise(16)
        driver.step(300)
        driver.host.steady = true
        driver.host.latency = 600
        driver.queues(n).add(driver.buffers(1, 64))
        driver.publish(n)
        driver.step(60)
        assert(driver.host.out > 0, "no read is out")
        driver.askForReset(n)
        for (_ <- 0 until 12) {
          assert(driver.read(QueueReset) == 1 && driver.read(QueueReady) == 0)
          for (value <- Seq(1L, 0L)) {
            driver.write(QueueReady, value)
            assert(driver.read(QueueReady) == 0)
          }
          for (offset <- Seq(QueueNum, QueueDesc, QueueDriver, QueueDevice)) driver.write(offset, 8)
          driver.write(QueueReset, 0)
          driver.askForReset(2) // There is no such queue.
          assert(driver.read(QueueReset) == 0)
          assert(!driver.isReset(other) && driver.read(QueueReady) == 1)
          assert(driver.isReset(n))
        }
        assert(driver.host.out > 0 && driver.read(Status) == 15)
        driver.until("the end of the queue's reset")(!driver.isReset(n))
        driver.bury(n)
        driver.setUpAnew(n, 8)
        driver.step(2)
        assert(driver.read(QueueReady) == 1 && driver.read(QueueReset) == 0)
        driver.host.latency = 30
        traffic(driver, 20, 100)()
        driver.reset()
        driver.host.silent = false
      }
    }
  }

  test("a queue that was reset has no size any more") {
    run("ring_size", agreed) { driver =>
      driver.initialise(16)
      driver.askForReset(1)
      driver.until("the end of the queue's reset")(!driver.isReset(1))
      driver.write(QueueReady, 1)
      driver.until("NEEDS_RESET")((driver.read(Status) & 0x40) != 0)
      assert(driver.read(QueueReady) == 0 && driver.read(Reason) == Violation.setup.position)
    }
  }

  test("the reset of another queue is not lost in any cycle of a reset's end") {
    run("ring_end", agreed) { driver =>
      for (cycle <- 0 until 40; first <- 0 to 1; whole <- Seq(false, true)) {
        driver.initialise(16)
        driver.step(400)
        driver.askForReset(first)
        driver.write(QueueSel, 1 - first)
        driver.step(cycle)
        // The device reads nothing, so each of the two resets takes more than 16 cycles.
        driver.write(if (whole) Status else QueueReset, if (whole) 0 else 1)
        val began = simTime()
        if (whole) driver.until("the device's reset")(driver.read(Status) == 0)
        else driver.until("the second reset")(!driver.isReset(1 - first))
        assert(simTime() - began > 16 * 10, s"a reset behind $cycle cycles is too short")
        for (n <- 0 to 1) assert(!driver.isReset(n) && driver.read(QueueReady) == 0)
        if (!whole) driver.reset()
        driver.host.silent = false
      }
      driver.initialise(16)
      traffic(driver, 20, 100)()
    }
  }

  // Linux' virtio_mmio does not wait for the end of a reset. It stops each queue behind the write
  // of 0 to Status, and warns if the queue still reads as ready.
  test("no queue reads as ready while the device is being reset") {
    run("reset_ready") { driver =>
      driver.initialise(16)
      driver.step(300)
      driver.host.steady = true
      driver.host.latency = 600
      driver.send(64)
      driver.publish(1)
      driver.notify(1)
      driver.step(60)
      assert(driver.host.out > 0, "no read is out")
      for (n <- 0 to 1) {
        driver.write(QueueSel, n)
        assert(driver.read(QueueReady) == 1)
      }
      driver.write(Status, 0)
      for (n <- 0 to 1) {
        driver.write(QueueSel, n)
        driver.write(QueueReady, 0)
        assert(driver.read(QueueReady) == 0, s"queue $n is ready")
      }
      assert(driver.read(Status) == 15, "the reset has ended too early for this test")
      driver.until("the device's reset")(driver.read(Status) == 0)
    }
  }

  test("nothing is served before DRIVER_OK, nor after FAILED") {
    run("status") { driver =>
      driver.initialise(16, ok = false)
      driver.send(20)
      driver.publish(1)
      driver.notify(1)
      driver.step(500)
      assert(driver.host.reads == 0)
      driver.write(Status, 15)
      driver.until("the chain is used")(driver.transmit.unseen)
      driver.write(Status, 0x8f)
      driver.step(300)
      val before = driver.host.reads
      driver.notify(1)
      driver.step(500)
      assert(driver.host.reads == before && driver.read(Status) == 0x8f)
    }
  }
}
