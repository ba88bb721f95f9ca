// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.capture.TestFrame
import lanebox.virtio.vocabulary.{Violation, VirtioParam}
import lanebox.vocabulary.Seed

/** Tests that a received frame takes as many chains as it needs (VIRTIO_NET_F_MRG_RXBUF), that its
  * header has their number, and that the driver sees all of them as used, or none.
  */
class ReceiveMoverTest extends NetBench {
  import VirtioParam.{EventIndex, Indirect, NetHeader, NetMerge, NotificationData}
  import VirtioRegisters._

  val merge = all | BigInt(1) << NetMerge

  def exactly(bytes: Int, random: Random): TestFrame =
    TestFrame(0, 0, bytes, IndexedSeq.fill(bytes)(random.nextInt().toByte))

  /** Offers one chain of each of these numbers of bytes. */
  def offer(driver: NetDriver, sizes: Seq[Int]): Unit = {
    sizes.foreach(driver.offerBytes(_))
    driver.publish(0)
  }

  /** Returns the sizes of `count` chains for `bytes` bytes in all, with room for a header in each.
    */
  def cut(bytes: Int, count: Int, random: Random): Seq[Int] = {
    val spare = bytes - count * NetHeader
    val cuts  = Seq.fill(count - 1)(random.nextInt(spare + 1)).sorted
    (cuts :+ spare).zip(0 +: cuts).map { case (end, begin) => NetHeader + end - begin }
  }

  /** Waits until the device has written parts of the last frame to all chains and is not busy. */
  def rest(driver: NetDriver): Unit = {
    driver.step(1000)
    driver.until("the device's rest")(!driver.busy)
  }

  def collected(driver: NetDriver, count: Int): Unit =
    driver.until(s"$count frames") {
      driver.onInterrupts(0)
      driver.frames.size == count
    }

  for (
    bits <- Seq(
      Seq(NetMerge),
      Seq(NetMerge, EventIndex),
      Seq(NetMerge, Indirect, NotificationData),
      Seq(NetMerge, EventIndex, Indirect, NotificationData)
    )
  )
    test(s"frames take several chains, features $bits, seed ${Seed.value}") {
      run(s"merge${bits.mkString("_")}", features(bits: _*)) { (driver, far) =>
        driver.host.pauses = driver.random.nextDouble() * 0.6
        driver.host.latency = 1 + driver.random.nextInt(150)
        // A driver that polls sees each state of the used ring.
        if (driver.random.nextBoolean()) driver.host.watch = () => driver.collect()
        driver.initialise(16)
        traffic(driver, far, 80)
        assert(driver.read(Dropped) == 0 && driver.overran == 0)
        assert(driver.counts.exists(_ > 1) && driver.counts.contains(1))
      }
    }

  test(s"a frame that lacks chains waits, is no work, and comes whole, seed ${Seed.value}") {
    run("waits", merge) { (driver, far) =>
      driver.initialise(16)
      driver.host.watch = () => driver.collect()
      for (round <- 1 to 30) {
        val one   = exactly(200 + driver.random.nextInt(NetBench.Largest - 200), driver.random)
        val count = 2 + driver.random.nextInt(14)
        val sizes = cut(NetHeader + one.data.size, count, driver.random)
        val early = driver.random.nextInt(count)
        offer(driver, sizes.take(early))
        far.input += one
        rest(driver)
        assert(driver.frames.isEmpty && !driver.receive.unseen, "half of a frame was shown")
        offer(driver, sizes.drop(early))
        collected(driver, 1)
        assert(driver.frames.dequeue() == one.data && driver.counts.dequeue() == count)
      }
      assert(driver.read(Dropped) == 0)
    }
  }

  test(s"a frame may take all chains of its queue, seed ${Seed.value}") {
    run("all", merge) { (driver, far) =>
      driver.initialise(16)
      for (_ <- 1 to 10) {
        val frames = Seq.fill(2)(exactly(15 * NetHeader, driver.random))
        far.input ++= frames
        for (one <- frames) {
          offer(driver, Seq.fill(16)(NetHeader))
          collected(driver, 1)
          assert(driver.frames.dequeue() == one.data && driver.counts.dequeue() == 16)
        }
      }
    }
  }

  test(s"the console works while a frame waits for chains, seed ${Seed.value}") {
    run("console", merge) { (driver, far) =>
      val console = new ConsoleDriver(driver.dut, driver.random, all, 0, Some(driver))
      driver.initialise(16)
      console.initialise(16)
      val one = exactly(600, driver.random)
      offer(driver, Seq(100, 13))
      far.input += one
      for (_ <- 1 to 20) {
        console.send(200)
        console.publish(1)
        console.until("the console's answer") {
          if (console.receive.room >= 4) console.offer(200)
          console.publish(0)
          console.onInterrupts(0)
          console.received.size == console.sent.size
        }
      }
      assert(console.received == console.sent && driver.frames.isEmpty)
      offer(driver, Seq(499))
      collected(driver, 1)
      assert(driver.frames.head == one.data && driver.counts.head == 3)
    }
  }

  test(s"a frame begins anew in a new queue, and a reset drops it, seed ${Seed.value}") {
    run("anew", merge) { (driver, far) =>
      for (round <- 0 until 12) {
        driver.host.silent = false
        driver.initialise(16)
        val one = exactly(900, driver.random)
        far.input += one
        driver.until("the end of the frame's input")(far.idle)
        offer(driver, cut(driver.random.nextInt(600) + 6 * NetHeader, 5, driver.random))
        driver.step(driver.random.nextInt(600))
        if (round % 2 == 0) {
          driver.renew(0)
          offer(driver, Seq(500, 412))
          collected(driver, 1)
          assert(driver.frames.head == one.data && driver.counts.head == 2)
        }
        driver.reset()
        driver.frames.clear()
        driver.counts.clear()
      }
      driver.host.silent = false
      driver.initialise(16)
      traffic(driver, far, 20)
    }
  }

  /** What a driver can do wrong while a frame waits, and the reason that the device gives. */
  val mistakes = Seq[(String, Violation.E, NetDriver => Unit)](
    (
      "a chain smaller than the header",
      Violation.tiny,
      driver => offer(driver, Seq(40, 1 + driver.random.nextInt(NetHeader - 1), 100))
    ),
    (
      "more chains than the queue has",
      Violation.index,
      driver => {
        offer(driver, Seq.fill(16)(NetHeader))
        rest(driver)
        driver.receive.offer(3)
        driver.receive.publish()
        driver.notify(0)
      }
    )
  )
  for ((name, reason, act) <- mistakes)
    test(s"$name stops the device, and a reset helps, seed ${Seed.value}") {
      run(name.replace(' ', '_'), merge) { (driver, far) =>
        for (_ <- 1 to 3) {
          driver.host.silent = false
          driver.initialise(16)
          driver.host.watch = () => assert(!driver.receive.unseen, "half of a frame was shown")
          far.input += exactly(1000, driver.random)
          act(driver)
          driver.until("NEEDS_RESET")((driver.read(Status) & 0x40) != 0)
          assert(
            driver.read(Reason) == reason.position && driver.interrupts(VirtioParam.net.queues) > 0
          )
          driver.host.watch = () => ()
          driver.step(1000)
          driver.reset()
        }
        driver.host.silent = false
        driver.initialise(16)
        traffic(driver, far, 20)
      }
    }
}
