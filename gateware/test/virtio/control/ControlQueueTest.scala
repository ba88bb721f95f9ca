// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.control

import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.virtio.{NetBench, PairsDriver, VirtioRegisters}
import lanebox.virtio.vocabulary.{Violation, VirtioParam}
import lanebox.vocabulary.{Numbers, Seed}

/** Tests that the control queue of the net device carries out MQ_VQ_PAIRS_SET, answers every other
  * command with an error, and stops at every violation of the rules.
  */
class ControlQueueTest extends NetBench {
  import PairsDriver._
  import VirtioParam.{EventIndex, Indirect, NetControl, NotificationData, net}
  import VirtioRegisters._

  val Size = 16

  def drive(
      name: String,
      bits: BigInt = all,
      own: BigInt = PairsDriver.features
  )(body: PairsDriver => Unit): Unit =
    NetBench.compiled.doSim(s"control_$name", Seed.value) { dut =>
      val driver = new PairsDriver(dut, new Random(simRandom.nextLong()), bits | own)
      driver.initialise(Size)
      body(driver)
    }

  /** Returns a command, which is often nearly MQ_VQ_PAIRS_SET, and its answer. */
  def anyCommand(random: Random): (Seq[Int], Int) = {
    val right = pairsSet(1 + random.nextInt(2))
    val bytes = random.nextInt(5) match {
      case 0 => Seq.fill(1 + random.nextInt(40))(random.nextInt(256))
      case 1 => right.updated(random.nextInt(4), random.nextInt(6))
      case 2 => right.take(1 + random.nextInt(4)) ++ Seq.fill(random.nextInt(3))(0)
      case _ => right
    }
    (bytes, if (Seq(1, 2).map(pairsSet).contains(bytes)) Ok else Refused)
  }

  test("the page offers two pairs and the control queue") {
    drive("page") { driver =>
      driver.write(DeviceFeaturesSel, 0)
      val offered = BigInt(driver.read(DeviceFeatures))
      assert((offered & PairsDriver.features) == PairsDriver.features)
      assert((driver.read(Config + 8) & 0xffff) == Numbers.VirtioNetPairs)
      for (n <- 0 to 5) {
        driver.write(QueueSel, n)
        assert(driver.read(QueueNumMax) == (if (n < 5) Size else 0))
      }
    }
  }

  for (bits <- Seq(Seq(), Seq(EventIndex), Seq(Indirect, EventIndex), Seq(NotificationData)))
    test(s"every command has its answer, features $bits, seed ${Seed.value}") {
      drive(s"any${bits.mkString("_")}", features(bits: _*)) { driver =>
        import driver.{control, random}
        driver.host.pauses = random.nextDouble() * 0.6
        driver.host.latency = 1 + random.nextInt(150)
        var sent = 0
        var idle = 0
        var ends = false // The driver adds no command until all are answered.
        while (driver.answers < 150) {
          val before = driver.answers
          ends = if (ends) driver.answers < sent else random.nextInt(8) == 0
          while (!ends && control.room >= 6 && random.nextInt(3) != 0) {
            val (bytes, answer) = anyCommand(random)
            driver.command(bytes, answer, room = 1 + random.nextInt(3))
            sent += 1
          }
          driver.publish(Control)
          // The driver looks only after an interrupt, so a lost one stops the test.
          driver.onInterrupts(random.nextInt(2) min (sent - driver.answers - 1).max(0))
          driver.step(random.nextInt(300))
          idle = if (before == driver.answers) idle + 1 else 0
          assert(idle < 300, s"${driver.answers} of $sent commands were answered, and no more")
        }
      }
    }

  test(s"without MQ the control queue is behind the first pair, seed ${Seed.value}") {
    drive("lone", own = BigInt(1) << NetControl) { driver =>
      import driver.random
      for (_ <- 0 until 20) {
        val (bytes, answer) = anyCommand(random)
        driver.command(bytes, answer)
        driver.publish(driver.last)
        val before = driver.answers
        driver.until("the interrupt of an answer") {
          driver.onInterrupts(0)
          driver.answers > before
        }
      }
      for (n <- driver.last + 1 to Control)
        assert(driver.interrupts(n) == 0, s"an interrupt of queue $n")
      driver.reset()
      driver.host.silent = false
      driver.initialise(Size)
      driver.activate(1)
    }
  }

  test(s"without interrupts none comes, seed ${Seed.value}") {
    for (event <- Seq(false, true))
      drive(s"polled$event", if (event) all else needed) { driver =>
        driver.control.forbidInterrupts(true)
        for (n <- 0 until 12) {
          driver.control.wantInterrupt(100)
          driver.activate(1 + n % 2)
        }
        driver.step(2000)
        assert(driver.interrupts(Control) == 0 && !driver.busy)
      }
  }

  test(s"the indices wrap, seed ${Seed.value}") {
    drive("wrap") { driver =>
      driver.step(2000)
      driver.dut.engine.controls(1).head.index #= 0xfffa
      driver.control.startAt(0xfffa)
      for (n <- 0 until 20) driver.activate(1 + n % 2)
    }
  }

  // Without EVENT_IDX the other queues have written nothing, so their reset takes no time.
  for (bits <- Seq(Seq(), Seq(EventIndex, Indirect, NotificationData)))
    test(s"a reset in the middle leaves one pair active, features $bits, seed ${Seed.value}") {
      drive(s"reset${bits.mkString("_")}", features(bits: _*)) { driver =>
        import driver.random
        val control = driver.dut.engine.controls(1).head
        for (_ <- 0 until 60) {
          driver.host.latency = 2 + random.nextInt(200)
          driver.activate(2)
          for (_ <- 0 until random.nextInt(3)) {
            val (bytes, answer) = anyCommand(random)
            driver.command(bytes, answer)
          }
          driver.publish(Control)
          if (random.nextBoolean()) driver.step(random.nextInt(1200))
          else {
            // The reset begins between the writes of an answer, which the host takes slowly.
            driver.command(pairsSet(1), Ok)
            driver.publish(Control)
            driver.host.pauses = 0.9
            driver.host.latency = 2
            val before = driver.host.writes
            driver.until("a write")(driver.host.writes > before + random.nextInt(4))
          }
          if (random.nextInt(3) == 0) {
            driver.write(QueueSel, Control)
            driver.write(QueueReady, 0)
            for (offset <- Seq(QueueDesc, QueueDriver, QueueDevice)) driver.write(offset, 0x10)
            driver.step(random.nextInt(100))
          }
          driver.reset()
          driver.host.pauses = 0.2
          assert(!control.io.both.toBoolean, "the second pair is active after a reset")
          driver.step(300)
          driver.host.silent = false
          driver.initialise(Size)
        }
        driver.activate(2)
      }
    }

  test(s"a queue that is made anew begins anew, seed ${Seed.value}") {
    drive("anew") { driver =>
      for (_ <- 0 until 10) {
        driver.activate(2)
        driver.command(pairsSet(1), Ok)
        driver.publish(Control)
        driver.step(driver.random.nextInt(1500))
        driver.takeAnswers()
        driver.renewControl()
        driver.activate(1)
      }
    }
  }

  /** Tests that the device stops for `reason` after `act`, and works after a reset. */
  def stops(name: String, reason: Violation.E, bits: BigInt = all)(act: PairsDriver => Unit): Unit =
    test(s"$name, seed ${Seed.value}") {
      drive(name.replaceAll("[^a-z]+", "_"), bits) { driver =>
        for (_ <- 0 to 1) {
          driver.activate(2)
          driver.step(1000)
          driver.interrupts(net.queues)
          act(driver)
          driver.until("NEEDS_RESET")((driver.read(Status) & 0x40) != 0)
          assert(driver.read(Reason) == reason.position)
          driver.until("the configuration's interrupt")(driver.interrupts(net.queues) > 0)
          driver.step(500)
          driver.host.silent = true
          for (n <- 0 to Control) driver.notify(n)
          driver.step(500)
          driver.host.silent = false
          driver.reset()
          driver.host.silent = false
          driver.host.fails = 0
          driver.initialise(Size)
        }
        driver.activate(2)
      }
    }

  def buffer(driver: PairsDriver, bytes: Int = 2): (Long, Int) = {
    val at = driver.memory.make(bytes, 16)
    driver.memory.grant(at, bytes, 3)
    (at, bytes)
  }
  def chain(driver: PairsDriver)(entries: ((Long, Int), Int, Int)*): Unit = {
    for (((place, flags, next), i) <- entries.zipWithIndex)
      driver.control.descriptor(driver.control.descriptors, i, place, flags, next)
    driver.control.offer(0)
    driver.control.publish()
    driver.notify(Control)
  }
  def table(driver: PairsDriver)(entries: ((Long, Int), Int, Int)*): (Long, Int) = {
    val place = buffer(driver, 16 * entries.size)
    for (((inner, flags, next), i) <- entries.zipWithIndex)
      driver.control.descriptor(place._1, i, inner, flags, next)
    place
  }

  for (ahead <- Seq(Size + 1, 0xffff))
    stops(s"an available index that is $ahead ahead", Violation.index, features()) { driver =>
      val now = driver.memory.number(driver.control.available + 2, 2)
      driver.memory.put(driver.control.available + 2, BigInt(now + ahead & 0xffff), 2)
      driver.notify(Control)
    }
  stops("a head beyond the table", Violation.head) { driver =>
    driver.control.offer(Size)
    driver.control.publish()
    driver.notify(Control)
  }
  stops("a next descriptor beyond the table", Violation.nextEntry)(driver =>
    chain(driver)((buffer(driver), 1, Size))
  )
  stops("a next descriptor beyond an indirect table", Violation.nextEntry)(driver =>
    chain(driver)((table(driver)((buffer(driver), 1, 2), (buffer(driver), 2, 0)), 4, 0))
  )
  stops("a chain without end", Violation.endless)(driver =>
    chain(driver)((buffer(driver), 1, 1), (buffer(driver), 1, 0))
  )
  stops("an indirect table without end", Violation.endless)(driver =>
    chain(driver)((table(driver)((buffer(driver), 1, 0)), 4, 0))
  )
  stops("a buffer of no bytes", Violation.empty)(driver =>
    chain(driver)((buffer(driver), 1, 1), ((buffer(driver)._1, 0), 2, 0))
  )
  stops("a command without a byte for its answer", Violation.direction)(driver =>
    chain(driver)((buffer(driver), 1, 1), (buffer(driver), 0, 0))
  )
  stops("an indirect table in an indirect table", Violation.indirect)(driver =>
    chain(driver)((table(driver)((table(driver)((buffer(driver), 2, 0)), 4, 0)), 4, 0))
  )
  stops("an indirect table with a next descriptor", Violation.indirect)(driver =>
    chain(driver)((table(driver)((buffer(driver), 2, 0)), 5, 1), (buffer(driver), 2, 0))
  )
  stops("an indirect table that is no multiple of its entries", Violation.indirect) { driver =>
    val (at, bytes) = table(driver)((buffer(driver), 2, 0))
    chain(driver)(((at, bytes + 8), 4, 0))
  }
  stops("an indirect table that was not agreed on", Violation.indirect, features())(driver =>
    chain(driver)((table(driver)((buffer(driver), 2, 0)), 4, 0))
  )
  for (reads <- 0 until 8 by 3)
    stops(s"a read that fails behind $reads others", Violation.read) { driver =>
      driver.command(pairsSet(1), Ok)
      driver.publish(Control)
      val before = driver.host.reads
      driver.until("the reads before")(driver.host.reads >= before + reads)
      driver.host.fails = 1
    }
}
