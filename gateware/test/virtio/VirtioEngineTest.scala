// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import scala.collection.mutable
import scala.language.reflectiveCalls
import spinal.core.sim._

import lanebox.capture.TestFrame
import lanebox.virtio.queue.Flight
import lanebox.virtio.vocabulary.VirtioParam
import lanebox.vocabulary.Seed

/** Tests how many cycles a message takes when one notification announces many messages and each
  * read of host memory takes long, and that all messages come back. A batch needs larger queues
  * than other suites have, so the devices are compiled for this suite alone.
  */
class VirtioEngineTest extends NetBench {
  import VirtioParam.{EventIndex, NetHeader, NotificationData}

  val Latency = 177 // Cycles of a read: 600 ns in the host, and the endpoint's 27.
  val Batch   = 32
  val agreed  = features(EventIndex, NotificationData)

  /** Records the cycles in which elements of the driver's queues become used, and counts writes of
    * their used indices.
    */
  class Pace(driver: ConsoleDriver, dut: VirtioDevices) {
    private val times = Seq.fill(2)(mutable.ArrayBuffer[Long]())
    private val index = Array(0, 0)
    private var now   = 0L
    driver.everyCycle {
      now += 1
      val request = dut.io.request
      if (request.valid.toBoolean && request.ready.toBoolean && request.write.toBoolean) {
        val at = request.address.toBigInt.toLong
        for ((queue, n) <- driver.queues.zipWithIndex) {
          val first = queue.used + 4
          if (at >= first && at < first + 8 * queue.size) times(n) += now
          if (at == queue.used) index(n) += 1
        }
      }
    }

    /** Returns the cycles from one used element of queue `n` to the next one. */
    def cycles(n: Int): Double = {
      assert(times(n).size == Batch, s"queue $n used ${times(n).size} chains of $Batch")
      (times(n).last - times(n).head) / (Batch - 1.0)
    }
    def clear(): Unit = {
      times.foreach(_.clear())
      index.indices.foreach(index(_) = 0)
    }

    /** Checks that the messages of `kind` have taken no more cycles, for transmit and receive. */
    def check(kind: String, most: (Double, Double)): Unit = {
      println(s"$kind: cycles for each: transmit ${cycles(1)}, receive ${cycles(0)}")
      assert(cycles(1) <= most._1 && cycles(0) <= most._2)
      // Elements that follow one another that fast share used indices.
      for (n <- 0 to 1 if cycles(n) < Flight.Patience)
        assert(index(n) <= Batch / 2, s"${index(n)} writes of the used index of queue $n")
    }
  }

  def settle(driver: ConsoleDriver): Unit = {
    driver.host.steady = true
    driver.host.latency = Latency
    driver.initialise(64)
    driver.queues.foreach(_.inOrder(stacked = false))
  }

  for ((bytes, most) <- Seq(64 -> (4.5, 5.7), 256 -> (10.5, 15.0), 1024 -> (43.0, 46.0)))
    test(s"$Batch messages of $bytes bytes to the console and back, seed ${Seed.value}") {
      VirtioEngineTest.compiled.doSim(s"console$bytes", Seed.value) { dut =>
        val random = new scala.util.Random(simRandom.nextLong())
        val driver = new ConsoleDriver(dut, random, agreed, 0)
        settle(driver)
        val pace = new Pace(driver, dut)
        for (_ <- 0 until 3) {
          while (driver.receive.room > 0)
            driver.receive.add(Seq((driver.memory.make(1024, 64), 1024)))
          driver.publish(0)
          driver.step(3000)
          pace.clear()
          for (_ <- 0 until Batch) {
            val data = Seq.fill(bytes)(random.nextInt().toByte)
            val at   = driver.memory.make(bytes, 64)
            driver.memory.put(at, data)
            driver.sent ++= data
            driver.transmit.add(Seq((at, bytes)))
          }
          driver.transmit.publish()
          driver.notify(1)
          driver.until("all bytes") {
            driver.collect()
            driver.received.size == driver.sent.size
          }
          driver.step(1000)
          driver.collect()
          assert(driver.received == driver.sent, "other bytes came back")
          pace.check(s"console, $bytes bytes", most)
        }
      }
    }

  for ((bytes, most) <- Seq(60 -> (6.6, 8.4), 1514 -> (54.0, 130.0)))
    test(s"$Batch frames of $bytes bytes in both directions, seed ${Seed.value}") {
      VirtioEngineTest.compiled.doSim(s"net$bytes", Seed.value) { dut =>
        val random = new scala.util.Random(simRandom.nextLong())
        val driver = new NetDriver(dut, random, agreed, 1)
        val far    = new FarSide(dut, random)
        far.stalls = 0
        settle(driver)
        val pace  = new Pace(driver, dut)
        val whole = NetHeader + bytes
        for (_ <- 0 until 3) {
          while (driver.receive.room > 0)
            driver.receive.add(Seq((driver.memory.make(1600, 64), 1600)))
          driver.publish(0)
          driver.step(3000)
          pace.clear()
          far.taken.clear()
          driver.frames.clear()
          val sent = Seq.fill(Batch)(IndexedSeq.fill(bytes)(random.nextInt().toByte))
          for (frame <- sent) {
            val at = driver.memory.make(whole, 64)
            driver.memory.put(at, Seq.fill(NetHeader)(0.toByte) ++ frame)
            driver.transmit.add(Seq((at, whole)))
          }
          val input =
            Seq.fill(Batch)(TestFrame(0, 0, bytes, IndexedSeq.fill(bytes)(random.nextInt().toByte)))
          driver.transmit.publish()
          driver.notify(1)
          for (one <- input) {
            far.input += one
            // The frame store has room for ten of the largest frames.
            if (bytes > 1000) driver.step(120)
          }
          driver.until("all frames") {
            driver.collect()
            far.taken.size == Batch && driver.frames.size == Batch
          }
          driver.step(1000)
          driver.collect()
          assert(far.taken == sent && driver.frames == input.map(_.data), "other frames came")
          pace.check(s"net, $bytes bytes", most)
        }
      }
    }

  test(s"the used index never goes back when a queue with many chains stops, seed ${Seed.value}") {
    VirtioEngineTest.compiled.doSim("stopped", Seed.value) { dut =>
      val random = new scala.util.Random(simRandom.nextLong())
      val driver = new ConsoleDriver(dut, random, agreed, 0)
      var cuts   = 0 // Rounds in which the queue stopped between its first and its last used chain.
      for (round <- 0 until 60) {
        driver.host.silent = false
        settle(driver)
        for (_ <- 0 until Batch) driver.transmit.add(Seq((driver.memory.make(64, 64), 64)))
        val ring = driver.transmit.used
        var last = 0
        driver.host.watch = () => {
          val index = driver.memory.number(ring + 2, 2).toInt
          assert(last <= index && index <= Batch, s"the used index goes from $last to $index")
          last = index
        }
        driver.transmit.publish()
        driver.notify(1)
        driver.until("the first used chain")(last > 0)
        driver.step(random.nextInt(200))
        val anew = round % 2 == 0 // The queue is made anew before the reset.
        driver.host.steady = round % 3 != 0
        if (anew) {
          driver.exchange(1)
          driver.step(1500)
        }
        driver.reset()
        if (last < Batch) cuts += 1
        driver.host.watch = () => ()
      }
      assert(cuts > 4, s"$cuts cuts")
    }
  }
}

object VirtioEngineTest {

  /** The simulation of both devices with queues of more chains than a batch has. */
  lazy val compiled = lanebox.vocabulary.LaneboxSim(
    VirtioDevices(VirtioDevices.all.map(_.copy(queueSize = 64)))
  )
}
