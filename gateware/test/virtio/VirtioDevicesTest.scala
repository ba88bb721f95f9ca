// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.capture.TestFrame
import lanebox.virtio.vocabulary.{Violation, VirtioParam}
import lanebox.vocabulary.{LaneboxSim, Seed}

/** Tests that the net device carries whole frames in both directions, in order and byte for byte,
  * that it counts the frames that it loses, and that the console works beside it.
  */
class VirtioDevicesTest extends NetBench {
  import VirtioParam.{EventIndex, Indirect, NotificationData, net}
  import VirtioRegisters._

  val choices = Seq(EventIndex, Indirect, NotificationData)
  for (bits <- Seq(Seq(), Seq(EventIndex), Seq(Indirect, NotificationData), choices))
    test(s"frames are carried in both directions, features $bits, seed ${Seed.value}") {
      run(s"both${bits.mkString("_")}", features(bits: _*)) { (driver, far) =>
        driver.host.pauses = driver.random.nextDouble() * 0.6
        driver.host.latency = 1 + driver.random.nextInt(150)
        far.stalls = driver.random.nextDouble() * 0.6
        driver.initialise(1 << (2 + driver.random.nextInt(3)))
        traffic(driver, far, 80)
        assert(driver.read(Dropped) == 0 && driver.overran == 0)
      }
    }

  test("the page has the address, the MTU and the state of the link") {
    run("page") { (driver, far) =>
      val words = param.config
      assert(driver.read(DeviceId) == 1)
      for ((word, n) <- words.zipWithIndex)
        assert(driver.read(Config + 4 * n) == (word | (if (n == 1) 1L << 16 else 0)))
    }
  }
  val param = net

  test(s"a build with one pair of queues carries frames and offers one, seed ${Seed.value}") {
    LaneboxSim(VirtioDevices(NetBench.small(VirtioDevices.all(pairs = 1))))
      .doSim("one", Seed.value) { dut =>
        val random = new Random(simRandom.nextLong())
        val driver = new NetDriver(dut, random, all, 1)
        driver.initialise(16)
        traffic(driver, new FarSide(dut, random), 60)
        assert((driver.read(Config + 8) & 0xffff) == 1)
        assert((driver.read(DeviceFeatures) & VirtioParam.TwoPairs) == 0)
        driver.write(QueueSel, 2)
        assert(driver.read(QueueNumMax) == 0, "there is a third queue")
      }
  }

  test(
    s"a far side that takes nothing holds the sender up, and loses nothing, seed ${Seed.value}"
  ) {
    run("held") { (driver, far) =>
      driver.initialise(16)
      far.stalls = 1
      val sent = mutable.ArrayBuffer[IndexedSeq[Byte]]()
      var held = 0 // Turns in a row in which the driver had no room for a frame.
      while (held < 5) {
        held = if (driver.transmit.room < 4) held + 1 else 0
        if (held == 0) {
          sent += frame(driver.random).data
          driver.sendFrame(sent.last)
        }
        assert(sent.size < 1000, "the driver is never held up")
        driver.publish(1)
        driver.onInterrupts(0)
        driver.step(500)
      }
      assert(far.taken.isEmpty)
      far.stalls = 0
      driver.until("all frames", 100000)(far.taken.size == sent.size)
      assert(far.taken == sent && driver.read(Dropped) == 0)
    }
  }

  test(s"bad frames, and frames without room, are lost and counted, seed ${Seed.value}") {
    run("lost") { (driver, far) =>
      driver.initialise(16)
      val input = Seq.fill(60)(frame(driver.random, 20))
      far.input ++= input
      driver.until("the end of the frames")(far.idle)
      driver.step(10)
      var quiet = 0
      while (quiet < 20) {
        val before = driver.frames.size
        work(driver, None)
        driver.step(200)
        quiet = if (before == driver.frames.size) quiet + 1 else 0
      }
      assert(driver.frames.size + driver.read(Dropped) == input.size)
      val good  = input.filterNot(_.error).map(_.data)
      val first = good.takeWhile(driver.frames.contains)
      assert(driver.frames.size > 10 && driver.frames.startsWith(first))
      assert(driver.frames.forall(good.contains(_)))
    }
  }

  test(s"frames that come faster than the host takes them are lost whole, seed ${Seed.value}") {
    run("faster", features(EventIndex, NotificationData)) { (driver, far) =>
      driver.host.pauses = 0.97
      driver.initialise(16)
      driver.host.watch = () => driver.collect()
      val input = mutable.ArrayBuffer[IndexedSeq[Byte]]()
      var quiet = 0
      while (quiet < 500) {
        val before = driver.frames.size
        // The frame store is full most of the time.
        if (far.idle && input.size < 600) {
          val one = frame(driver.random)
          far.input += one
          input += one.data
        }
        while (driver.receive.room > 0) driver.offerFrame(NetBench.Largest, parts = 1)
        driver.publish(0)
        driver.step(20)
        quiet = if (input.size == 600 && before == driver.frames.size) quiet + 1 else 0
      }
      val lost = driver.read(Dropped)
      assert(lost > 200 && driver.frames.size + lost == input.size, s"$lost frames are lost")
      val left = input.iterator
      assert(driver.frames.forall(frame => left.contains(frame)), "a frame is not one of those")
    }
  }

  for (rows <- Seq(1, 2, 3))
    test(s"frames of $rows rows, one behind the other, fill the store and damage none") {
      run(s"brim$rows") { (driver, far) =>
        driver.initialise(16)
        // Two frames have been in the store before. All their rows are free again.
        val large = IndexedSeq.tabulate(NetBench.Largest)(_.toByte)
        for (_ <- 0 to 1) {
          driver.offerFrame(NetBench.Largest)
          far.input += TestFrame(0, 0, large.size, large)
        }
        driver.publish(0)
        driver.until("two large frames") {
          driver.onInterrupts(0)
          driver.frames.size == 2
        }
        // The header takes 12 bytes of a frame's first row.
        val input = Seq.tabulate(param.rows / rows + 40) { n =>
          IndexedSeq.tabulate(32 * rows - VirtioParam.NetHeader)(i => (n * 7 + n / 256 + i).toByte)
        }
        far.input ++= input.map(data => TestFrame(0, 0, data.size, data))
        driver.until("the end of the frames")(far.idle)
        driver.step(10)
        val lost  = driver.read(Dropped).toInt
        val taken = rows * (input.size - lost)
        // NetReceive keeps four rows free beside the frame that comes.
        assert(taken <= param.rows && taken + rows + 4 > param.rows, s"$taken rows are taken")
        driver.until("all others", 100000) {
          work(driver, None)
          driver.frames.size == 2 + input.size - lost
        }
        // The store is full once, so the frames in front are there.
        assert(driver.frames.drop(2) == input.take(input.size - lost))
      }
    }

  test("a large frame begins only if the store has room for it, however full the store is") {
    run("begins") { (driver, far) =>
      val large = IndexedSeq.tabulate(NetBench.Largest)(_.toByte)
      for (left <- -32 until VirtioParam.FlightRows by 8) {
        driver.host.silent = false
        driver.initialise(16)
        far.stalls = 1
        far.taken.clear()
        // Frames of a row each, until that many rows are left beside a large frame, or until the
        // device begins no frame any more.
        var (short, waits) = (0, 0)
        while (short < param.rows - param.largestRows - left && waits < 500) {
          driver.collect()
          waits += 1
          if (driver.transmit.room > 8) {
            driver.sendFrame(Seq.fill(20)(short.toByte), parts = 1)
            driver.publish(1)
            short += 1
            waits = 0
          }
          driver.step(1)
        }
        driver.sendFrame(large)
        driver.publish(1)
        driver.step(2000)
        far.stalls = 0
        driver.until(s"all frames, $left", 20000)(far.taken.size == short + 1)
        assert(driver.read(Dropped) == 0, s"$left")
        assert(far.taken.last == large)
        driver.reset()
      }
    }
  }

  test(s"a frame that is too long for its chain is lost and counted, seed ${Seed.value}") {
    run("long") { (driver, far) =>
      driver.initialise(16)
      val input = Seq.fill(40)(frame(driver.random))
      for ((one, n) <- input.zipWithIndex) {
        far.input += one
        var left = 60
        while (left > 0 && driver.frames.size + driver.overran < n + 1) {
          work(driver, None, room = 300)
          driver.step(50)
          left -= 1
        }
      }
      val (short, long) = input.partition(_.data.size <= 300)
      assert(driver.frames == short.map(_.data))
      assert(driver.overran == long.size && driver.read(Dropped) == long.size)
    }
  }

  test(s"a reset in the middle leaves no half frame, seed ${Seed.value}") {
    run("reset") { (driver, far) =>
      for (_ <- 0 until 25) {
        driver.host.silent = false
        driver.host.latency = 2 + driver.random.nextInt(200)
        driver.initialise(16)
        val sent = mutable.ArrayBuffer[IndexedSeq[Byte]]()
        far.taken.clear()
        for (_ <- 0 until driver.random.nextInt(30)) {
          if (driver.random.nextBoolean()) far.input += frame(driver.random, 10)
          work(
            driver, {
              sent += frame(driver.random).data
              sent.lastOption
            }
          )
        }
        driver.reset()
        driver.frames.clear()
        // Frames that were sent completely still leave.
        driver.until("the end of the far side's work", 100000)(far.idle)
        driver.step(3000)
        assert(!driver.busy && sent.startsWith(far.taken), "other frames were sent")
      }
      driver.host.silent = false
      driver.initialise(16)
      traffic(driver, far, 30)
    }
  }

  test(s"a frame that goes on while a reset ends leaves no row, seed ${Seed.value}") {
    run("ends") { (driver, far) =>
      // The frame has 48 beats, so its first beats come before the reset and some during its end.
      for (cycle <- 0 until 32 by 4) {
        driver.host.silent = false
        driver.initialise(16)
        far.input += TestFrame(0, 0, NetBench.Largest, IndexedSeq.fill(NetBench.Largest)(7.toByte))
        driver.step(4 + cycle)
        driver.reset()
        driver.until("the end of the frame")(far.idle)
        driver.host.silent = false
        driver.initialise(16)
        traffic(driver, far, 2)
        driver.reset()
      }
    }
  }

  test(s"without a driver frames are dropped, and are no work, seed ${Seed.value}") {
    run("alone") { (driver, far) =>
      far.input ++= Seq.fill(20)(frame(driver.random))
      driver.until("the end of the frames")(far.idle)
      driver.step(100)
      assert(!driver.busy && driver.read(Dropped) == 0)
      driver.initialise(16)
      traffic(driver, far, 10)
      // A frame that has no buffer waits, but is no work.
      while (driver.receive.unseen) driver.collect()
      driver.step(3000)
      far.input ++= Seq.fill(30)(frame(driver.random))
      driver.until("the end of the frames")(far.idle)
      driver.step(3000)
      assert(!driver.busy)
    }
  }

  test("the driver is told of a change of the link") {
    run("link") { (driver, far) =>
      driver.initialise(16)
      driver.step(50)
      assert(driver.interrupts(VirtioParam.net.queues) == 0)
      for (up <- Seq(false, true)) {
        driver.dut.io.link #= up
        driver.until("the interrupt")(driver.interrupts(VirtioParam.net.queues) > 0)
        assert((driver.read(Config + 4) >> 16) == (if (up) 1 else 0))
        assert((driver.read(InterruptStatus) & 2) != 0)
        driver.write(InterruptAck, 2)
      }
    }
  }

  test(s"the console works beside the net device, and its reset does too, seed ${Seed.value}") {
    run("beside") { (driver, far) =>
      val console = new ConsoleDriver(driver.dut, driver.random, all, 0, Some(driver))
      driver.initialise(16)
      console.initialise(16)
      val lines = fork {
        for (_ <- 0 until 60) {
          console.send(200)
          console.publish(1)
          var left = 2000
          while (console.received.size < console.sent.size) {
            if (console.receive.room >= 4) console.offer(200)
            console.publish(0)
            console.onInterrupts(0)
            console.step(20)
            left -= 1
            assert(left > 0, "the console answers no more")
          }
        }
        assert(console.received == console.sent)
        console.write(Status, 0)
        console.until("the reset of the console")(console.read(Status) == 0)
      }
      traffic(driver, far, 100)
      lines.join()
      traffic(driver, far, 20)
    }
  }

  /** What a driver can do wrong in the transmit queue, and the reason that the device gives. */
  val mistakes = Seq[(String, Violation.E, NetDriver => Unit)](
    ("a head beyond the queue", Violation.head, _.transmit.offer(16)),
    (
      "a chain without end",
      Violation.endless,
      driver => {
        val at = driver.memory.make(64, 1)
        driver.memory.grant(at, 64, 1)
        driver.transmit.descriptor(driver.transmit.descriptors, 0, (at, 64), 1, 0)
        driver.transmit.offer(0)
      }
    ),
    (
      "a buffer that cannot be read",
      Violation.read,
      driver => {
        driver.sendFrame(Seq.fill(900)(1.toByte))
        driver.host.fails = 0.5
      }
    )
  )
  for ((name, reason, act) <- mistakes)
    test(s"after $name no half frame leaves, and the console goes on, seed ${Seed.value}") {
      run(name.replace(' ', '_')) { (driver, far) =>
        val console = new ConsoleDriver(driver.dut, driver.random, all, 0, Some(driver))
        driver.initialise(16)
        traffic(driver, far, 10)
        driver.step(1000)
        far.taken.clear()
        driver.interrupts(VirtioParam.net.queues)
        act(driver)
        driver.transmit.publish()
        driver.notify(1)
        driver.until("NEEDS_RESET")((driver.read(Status) & 0x40) != 0)
        assert(
          driver.read(Reason) == reason.position && driver.interrupts(VirtioParam.net.queues) > 0
        )
        driver.host.fails = 0
        driver.step(2000)
        assert(far.taken.isEmpty)
        console.initialise(16)
        console.send(100)
        console.offer(200)
        console.publish(0)
        console.publish(1)
        console.until("the console's answer") {
          console.onInterrupts(0)
          console.received.nonEmpty
        }
        driver.write(Status, 0)
        driver.until("the reset")(driver.read(Status) == 0)
        driver.frames.clear()
        driver.initialise(16)
        traffic(driver, far, 20)
      }
    }
}
