// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.capture.TestFrame
import lanebox.virtio.steering.Flow
import lanebox.virtio.vocabulary.VirtioParam
import lanebox.vocabulary.Seed

/** Tests that a driver may reset any queue alone while all queues are busy (RING_RESET). When the
  * device says that the reset has ended, it leaves the queue's memory alone. The other queues lose
  * nothing, and a new queue of another size works in the old one's place.
  */
class RingResetTest extends NetBench {
  import PairsDriver.{Control, Ok, pairsSet}
  import VirtioParam._
  import VirtioRegisters._

  /** A queue of one of the two devices. */
  case class Victim(driver: ConsoleDriver, n: Int) {
    def receives: Boolean = driver.kinds(n)

    /** Asks for the reset. Its first cycles are too few for its end. */
    def begin(): Unit = {
      driver.askForReset(n)
      if (driver.random.nextBoolean()) {
        driver.write(QueueReady, 1)
        driver.write(QueueNum, 4)
        assert(driver.read(QueueReady) == 0 && driver.read(QueueReset) == 1)
      }
    }
  }

  /** The traffic of both devices. `pairs` pairs of queues of the net device are in use. */
  class Traffic(driver: NetDriver, console: ConsoleDriver, far: FarSide, pairs: Int) {
    import driver.random
    val flows          = Seq.tabulate(8)(n => Flow(n, Flow.Kinds(n % 6), random))
    val sent           = Seq.fill(pairs)(mutable.ArrayBuffer[IndexedSeq[Byte]]())
    val input          = mutable.ArrayBuffer[IndexedSeq[Byte]]()
    private var number = 0
    // The queues that are being reset, or that were and are not set up anew.
    val down = mutable.Set[Victim]()
    // The frames that may be lost: those that a queue had when its reset ended.
    val excused = mutable.Set[IndexedSeq[Byte]]()

    private def next(back: Boolean): IndexedSeq[Byte] = {
      number += 1
      val (front, mark) = {
        val short = flows(random.nextInt(8)).frame(number, back)
        short.splitAt(short.size - 3)
      }
      front ++ Seq.fill(random.nextInt(1200))(random.nextInt().toByte) ++ mark
    }
    private def up(device: ConsoleDriver, n: Int) = !down.contains(Victim(device, n))

    def send(): Unit = {
      val pair = random.nextInt(pairs)
      if (up(driver, 2 * pair + 1) && driver.queues(2 * pair + 1).room >= 4) {
        sent(pair) += next(back = false)
        driver.sendFrame(sent(pair).last, pair = pair)
      }
    }

    /** Lets a frame come from the far side, unless many are inside. */
    def receive(): Unit = if (input.size - driver.frames.size < 6) {
      input += next(back = true)
      far.input += TestFrame(0, 0, input.last.size, input.last)
    }
    def talk(): Unit =
      if (
        up(
          console,
          1
        ) && console.transmit.room >= 4 && console.sent.size - console.received.size < 2000
      ) console.send(100)

    def work(): Unit = {
      for (pair <- 0 until pairs if up(driver, 2 * pair))
        while (driver.queues(2 * pair).room >= 4 && random.nextInt(4) != 0)
          driver.offerFrame(NetBench.Largest, pair = pair)
      if (up(console, 0) && console.receive.room >= 4) console.offer(100)
      for (device <- Seq(driver, console); n <- device.queues.indices if up(device, n))
        device.publish(n)
      driver.onInterrupts(0)
      console.onInterrupts(0)
      for (Victim(device, n) <- down)
        assert(device.isReset(n) || device.interrupts(n) == 0, s"an interrupt of queue $n")
      driver.step(random.nextInt(60))
    }
    def rush(most: Int): Unit =
      for (_ <- 0 until random.nextInt(most)) {
        send()
        if (random.nextBoolean()) receive()
        if (random.nextBoolean()) talk()
        work()
      }

    /** Notes what may be lost with a queue whose reset has ended. */
    private def excuse(victim: Victim): Unit =
      if ((victim.driver eq driver) && victim.n < 2 * pairs) {
        if (victim.receives) excused ++= input
        else excused ++= sent(victim.n / 2).takeRight(driver.queues(victim.n).chains.size)
      }

    /** Waits until the resets have ended, while the driver does what it must not. */
    def await(victims: Seq[Victim]): Unit = {
      var left = 2000
      val open = mutable.Set(victims: _*)
      while (open.nonEmpty) {
        val victim @ Victim(device, n) = open.toSeq(random.nextInt(open.size))
        random.nextInt(8) match {
          case 0 => device.notify(n, random.nextInt(65536))
          case 1 => device.askForReset(n)
          case 2 => device.askForReset(7) // No queue has this number.
          case _ => rush(3)
        }
        if (!device.isReset(n)) {
          device.collect()
          excuse(victim)
          device.bury(n)
          open -= victim
        }
        left -= 1
        assert(left > 0, s"the reset of queue $n does not end")
      }
    }

    def setUp(victim: Victim): Unit = {
      if (random.nextBoolean()) victim.driver.notify(victim.n, random.nextInt(65536))
      victim.driver.setUpAnew(victim.n, 1 << (3 + random.nextInt(2)))
      down -= victim
    }

    private def missing = input.filterNot(driver.frames.toSet)

    /** Lets all that can come come, and checks that nothing else is missing. */
    def check(): Unit = {
      var quiet = 0
      def state = (far.taken.size, driver.frames.size, console.received.size)
      while (quiet < 60) {
        val before = state
        work()
        driver.step(40)
        quiet = if (before == state) quiet + 1 else 0
      }
      assert(far.taken.toSet.size == far.taken.size, "a frame was sent twice")
      for (frames <- sent) {
        val came = far.taken.filter(frames.contains(_))
        assert(came == frames.filter(came.contains(_)), "frames of a queue left in another order")
        val lost = frames.filterNot(came.contains(_)).filterNot(excused)
        assert(lost.isEmpty, s"${lost.size} of ${frames.size} frames did not leave")
      }
      assert(
        far.taken.size == sent.map(one => far.taken.count(one.contains(_))).sum,
        "half a frame"
      )
      assert(driver.frames.toSet.size == driver.frames.size, "a frame came twice")
      assert(driver.frames.forall(input.contains(_)), "another frame came")
      for (pair <- 0 until pairs) {
        val mine = driver.frames.zip(driver.pairs).filter(_._2 == pair).map(_._1)
        def numbers(frames: Iterable[Seq[Byte]]) = frames.map(Flow.mark(_)._2).toSeq
        val expected                             = numbers(input.filter(mine.contains(_)))
        assert(numbers(mine) == expected, "frames of a queue came in another order")
      }
      val lost = missing.filterNot(excused)
      assert(lost.isEmpty, s"${lost.size} of ${input.size} frames did not come")
      assert(driver.read(Dropped) == 0 && driver.read(Status) == 15 && console.read(Status) == 15)
    }
    def forget(): Unit = {
      (sent :+ input).foreach(_.clear())
      Seq(far.taken, driver.frames).foreach(_.clear())
      driver.pairs.clear()
      excused.clear()
    }
    def lost: Int = missing.size
  }

  /** Rounds in each of which one queue, or two of them, are reset while all are busy. */
  def rounds(driver: NetDriver, console: ConsoleDriver, far: FarSide, count: Int)(
      begin: => Unit
  ): Unit = {
    import driver.random
    driver.initialise(16)
    console.initialise(16)
    val traffic = new Traffic(driver, console, far, driver.kinds.size / 2)
    val all     = Seq(driver, console).flatMap(one => one.kinds.indices.map(Victim(one, _)))
    for (round <- 0 until count) {
      begin
      driver.host.pauses = random.nextDouble() * 0.6
      driver.host.latency = 2 + random.nextInt(if (round % 4 == 0) 1500 else 150)
      far.stalls = random.nextDouble() * 0.6
      val victims = random.shuffle(all).take(1 + random.nextInt(2))
      val others  = victims.forall(_.driver ne console) // The console loses nothing.
      traffic.rush(20)
      for (victim <- victims) {
        victim.begin()
        traffic.down += victim
        if (random.nextBoolean()) traffic.rush(3)
      }
      traffic.await(victims)
      traffic.rush(10)
      victims.foreach(traffic.setUp)
      traffic.rush(20)
      driver.host.latency = 2 + random.nextInt(150)
      traffic.check()
      if (others) assert(console.received == console.sent, "the console lost a message")
      console.received.clear()
      console.sent.clear()
      traffic.forget()
    }
  }

  val choices = Seq(
    Seq(),
    Seq(NetMerge, NotificationData),
    Seq(EventIndex, Indirect, NotificationData),
    Seq(EventIndex, NetMerge, NotificationData)
  )
  for (bits <- choices)
    test(s"queues of two pairs are reset, features ${bits.mkString(" ")}, seed ${Seed.value}") {
      NetBench.compiled.doSim(s"ring${bits.mkString("_")}", Seed.value) { dut =>
        val random = new Random(simRandom.nextLong())
        val agreed = features(RingReset +: bits: _*)
        val driver = new PairsDriver(dut, random, agreed | PairsDriver.features)
        val console =
          new ConsoleDriver(dut, random, agreed & ~(BigInt(1) << NetMerge), 0, Some(driver))
        rounds(driver, console, new FarSide(dut, random), 40) {
          driver.forgetCommands()
          driver.activate(2)
          if (!bits.contains(NetMerge) && random.nextBoolean()) {
            driver.command(pairsSet(1), Ok)
            driver.publish(Control)
          }
        }
      }
    }

  for (packed <- Seq(false, true)) {
    def bench = if (packed) PackedBench.compiled else NetBench.compiled
    val kind  = if (packed) "packed" else "split"
    val bits  = (if (packed) Seq(Packed) else Seq()) ++ Seq(RingReset, EventIndex, NotificationData)

    test(s"in any cycle of an answer a $kind queue may be reset, seed ${Seed.value}") {
      bench.doSim(s"ring_cycles_$kind", Seed.value) { dut =>
        val driver = new ConsoleDriver(dut, new Random(simRandom.nextLong()), features(bits: _*))
        driver.host.steady = true
        driver.host.latency = 4
        for (cycle <- 0 until 150; n <- 0 to 1) {
          driver.initialise(16)
          driver.receive.add(driver.buffers(4, 64))
          driver.receive.add(driver.buffers(1, 64))
          driver.publish(0)
          for (_ <- 0 to cycle % 3) driver.send(40, parts = 1)
          driver.step(100)
          driver.publish(1)
          driver.step(cycle)
          driver.askForReset(n)
          driver.until("the end of the reset")(!driver.isReset(n))
          driver.bury(n)
          driver.step(60)
          assert(driver.interrupts(n) == 0, "an interrupt after the reset")
          driver.reset()
          driver.host.silent = false
        }
      }
    }

    test(s"a reset of the device ends those of $kind queues, seed ${Seed.value}") {
      bench.doSim(s"ring_device_$kind", Seed.value) { dut =>
        val random = new Random(simRandom.nextLong())
        val driver = new NetDriver(dut, random, features(bits: _*), 1)
        val far    = new FarSide(dut, random)
        for (_ <- 0 until 30) {
          driver.host.latency = 2 + random.nextInt(300)
          driver.initialise(16)
          for (_ <- 0 until random.nextInt(20)) {
            if (random.nextBoolean()) far.input += frame(random)
            work(driver, Some(frame(random).data))
          }
          for (n <- driver.kinds.indices if random.nextBoolean()) {
            driver.askForReset(n)
            driver.step(random.nextInt(30))
          }
          driver.reset()
          for (n <- driver.kinds.indices)
            assert(!driver.isReset(n) && driver.read(QueueReady) == 0)
          driver.step(random.nextInt(300))
          assert(driver.host.interrupts.sum == 0, "an interrupt after the reset")
          driver.host.silent = false
          driver.frames.clear()
          driver.until("the end of the far side's work", 100000)(far.idle)
          driver.step(3000)
        }
        far.taken.clear()
        driver.initialise(16)
        traffic(driver, far, 20)
      }
    }
  }

  for (bits <- choices)
    test(s"packed queues are reset, features ${bits.mkString(" ")}, seed ${Seed.value}") {
      PackedBench.compiled.doSim(s"ring_packed${bits.mkString("_")}", Seed.value) { dut =>
        val random = new Random(simRandom.nextLong())
        val agreed = features(RingReset +: Packed +: bits: _*)
        val driver = new NetDriver(dut, random, agreed, 1)
        val console =
          new ConsoleDriver(dut, random, agreed & ~(BigInt(1) << NetMerge), 0, Some(driver))
        rounds(driver, console, new FarSide(dut, random), 40)(())
      }
    }
}
