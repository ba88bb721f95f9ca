// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.queue

import scala.language.reflectiveCalls
import spinal.core.sim._

import lanebox.virtio.vocabulary.{Violation, VirtioParam}
import lanebox.virtio.{ConsoleBench, ConsoleDriver, VirtioDevices, VirtioRegisters}
import lanebox.vocabulary.{LaneboxSim, Seed}

/** Tests many plain chains of a queue that are on their way together: a read that fails among them,
  * a reset, more of them than the device has slots, and a chain with a fault or of another kind
  * behind them. A queue of full size has room for all of them, so the console is compiled for this
  * suite alone.
  */
class FlightTest extends ConsoleBench {
  import VirtioRegisters._

  override def compiled = FlightTest.compiled

  val Size = FlightTest.console.queueSize

  /** Offers a buffer for each answer, and waits until the device has read some of their
    * descriptors.
    */
  def prepare(driver: ConsoleDriver): Unit = {
    driver.initialise(Size)
    driver.transmit.inOrder(stacked = false)
    offerAll(driver)
    driver.step(1000)
  }

  def offerAll(driver: ConsoleDriver): Unit = {
    while (driver.receive.room > 0) driver.receive.add(Seq((driver.memory.make(128, 1), 128)))
    driver.publish(0)
  }

  /** Adds `count` chains of one buffer of 16 to `most` bytes. Returns (address, bytes) of each. */
  def add(driver: ConsoleDriver, count: Int, most: Int, align: Int = 1) =
    for (_ <- 0 until count) yield {
      val bytes = 16 + driver.random.nextInt(most - 15)
      val at    = driver.memory.make(bytes, align)
      val data  = Seq.fill(bytes)(driver.random.nextInt().toByte)
      driver.memory.put(at, data)
      driver.sent ++= data
      driver.transmit.add(Seq((at, bytes)))
      (at, bytes)
    }

  def usedIndex(driver: ConsoleDriver): Int =
    driver.memory.number(driver.transmit.used + 2, 2).toInt

  def stops(driver: ConsoleDriver, reason: Violation.E): Unit = {
    driver.until("NEEDS_RESET")((driver.read(Status) & 0x40) != 0)
    assert(driver.read(Reason) == reason.position)
    driver.step(1500)
  }

  def worksAgain(driver: ConsoleDriver): Unit = {
    driver.reset()
    driver.step(300)
    driver.host.silent = false
    driver.initialise(16)
    traffic(driver, 20, 100)()
  }

  test(s"no chain from a read that failed on becomes used, seed ${Seed.value}") {
    run("failed") { driver =>
      for (_ <- 0 until 12) {
        driver.host.silent = false
        driver.host.latency = 200
        driver.host.steady = driver.random.nextBoolean()
        prepare(driver)
        val ring = driver.transmit.used + 4
        driver.memory.put(ring, Seq.fill(8 * Size)(-1.toByte))
        // Each chain takes one or two reads, so the read that fails is of a chain in the middle.
        val fails = 2 + driver.random.nextInt(20)
        driver.host.failing = Some(driver.host.payloads + fails)
        driver.host.failedAt = -1
        val buffers = add(driver, 32, 200)
        driver.publish(1)
        var together = 0
        driver.until("NEEDS_RESET") {
          together = together max driver.host.out
          (driver.read(Status) & 0x40) != 0
        }
        assert(together > 2, s"$together reads at a time")
        stops(driver, Violation.read)
        val used = usedIndex(driver)
        val at   = driver.host.failedAt
        val bad  = buffers.indexWhere { case (from, bytes) => at + 3 >= from && at < from + bytes }
        assert(bad >= 0 && used <= bad, s"$used chains are used, and the read of chain $bad failed")
        val written = (0 until Size).count(n => driver.memory.number(ring + 8 * n, 4) < Size)
        assert(used == written, s"$written elements were written, and the used index is $used")
        driver.collect()
        assert(driver.sent.startsWith(driver.received), "other bytes came back")
        driver.host.failing = None
        worksAgain(driver)
        driver.reset()
      }
    }
  }

  test(s"a reset ends many chains that are on their way, seed ${Seed.value}") {
    run("reset") { driver =>
      var busy = 0 // Rounds in which the reset came while many reads were out.
      for (_ <- 0 until 40) {
        driver.host.silent = false
        driver.host.latency = 200
        driver.host.steady = driver.random.nextBoolean()
        prepare(driver)
        add(driver, 60, 200)
        driver.publish(1)
        driver.step(driver.random.nextInt(900))
        if (driver.host.out > 8) busy += 1
        driver.reset()
        driver.step(driver.random.nextInt(400))
        assert(driver.host.interrupts.sum == 0, "an interrupt after the reset")
      }
      assert(busy > 5, s"$busy resets with many reads out")
      driver.host.silent = false
      driver.initialise(16)
      traffic(driver, 30, 300)()
    }
  }

  test(s"slots and indices wrap with more chains than slots, seed ${Seed.value}") {
    run("wrap") { driver =>
      driver.host.latency = 150
      driver.initialise(Size)
      driver.step(500)
      driver.startAt(0xff80)
      for (round <- 0 until 6) {
        driver.host.steady = round % 2 == 0
        offerAll(driver)
        add(driver, 130 + driver.random.nextInt(70), 60)
        driver.publish(1)
        driver.until(s"all bytes of round $round", 60000) {
          driver.onInterrupts(0)
          driver.received.size == driver.sent.size
        }
        assert(driver.received == driver.sent, "other bytes came back")
        driver.until("the used chains")(driver.transmit.chains.isEmpty || {
          driver.collect(); false
        })
      }
    }
  }

  test(s"answers that wait go to chains of any kind, whole and in order, seed ${Seed.value}") {
    run("kinds") { driver =>
      for (size <- Seq(1, 2, 4, 16, Size, 1, 2, 8, 64, Size)) {
        import driver.random
        driver.host.silent = false
        driver.host.steady = random.nextBoolean()
        driver.host.latency = 2 + random.nextInt(200)
        driver.host.pauses = random.nextDouble() * 0.7
        driver.initialise(size)
        if (random.nextBoolean()) driver.queues.foreach(_.inOrder(stacked = false))
        // A driver that polls takes a buffer back as soon as it is used.
        driver.host.watch = () => driver.collect()
        for (_ <- 0 until 2) {
          for (_ <- 0 until 60) {
            driver.until("a free chain")(driver.transmit.room > 0)
            add(driver, 1, 100)
            if (driver.transmit.room == 0 || random.nextInt(3) == 0) driver.publish(1)
          }
          driver.publish(1)
          driver.until("the used chains")(driver.transmit.chains.isEmpty)
          driver.until("all bytes", 100000) {
            while (driver.receive.room > 0) random.nextInt(8) match {
              case 0 => driver.receive.add(driver.buffers(1, 1 + random.nextInt(60)))
              case 1 => driver.offer(150)
              case _ => driver.receive.add(driver.buffers(1, 100 + random.nextInt(100)))
            }
            driver.publish(0)
            driver.received.size == driver.sent.size
          }
          assert(driver.received == driver.sent, "other bytes came back")
        }
        driver.host.watch = () => ()
        driver.reset()
      }
    }
  }

  /** Sends `count` messages to which `chains` plain chains wait in the receive queue. */
  def answers(driver: ConsoleDriver, count: Int, chains: Int): Seq[Seq[Byte]] = {
    driver.host.silent = false
    driver.host.steady = true
    driver.host.latency = 20
    driver.initialise(64)
    driver.queues.foreach(_.inOrder(stacked = false))
    for (_ <- 0 until chains) driver.receive.add(driver.buffers(1, 128))
    driver.publish(0)
    driver.step(400)
    val buffers = add(driver, count, 100)
    driver.publish(1)
    buffers.map { case (at, bytes) => driver.memory.get(at, bytes) }
  }

  test(s"a reset in any cycle of many answers ends them, seed ${Seed.value}") {
    run("answers") { driver =>
      for (cycle <- 0 until 100) {
        answers(driver, 8, 10)
        driver.step(20 + cycle)
        driver.reset()
        driver.step(60)
      }
    }
  }

  test(s"a receive queue that is made anew gets whole answers only, seed ${Seed.value}") {
    run("anew") { driver =>
      var lost, kept = 0
      for (cycle <- 0 until 60) {
        val messages = answers(driver, 12, 14)
        driver.step(60 + 2 * cycle)
        driver.exchange(0)
        val ring = driver.receive
        var last = 0
        driver.host.watch = () => {
          val index = driver.memory.number(ring.used + 2, 2).toInt
          assert(last <= index && index <= 14, s"the used index goes from $last to $index")
          last = index
        }
        for (_ <- 0 until 14) ring.add(driver.buffers(1, 128))
        driver.publish(0)
        driver.step(1500)
        val came = ring.takeAll().map { case (chain, bytes) =>
          driver.memory.get(chain.buffers.head._1, bytes)
        }
        assert(messages.endsWith(came), "the new queue has other answers than the last ones")
        lost += messages.size - came.size
        kept += came.size
        driver.host.watch = () => ()
        driver.reset()
      }
      assert(lost > 20 && kept > 20, s"$lost answers in old rings, $kept in new ones")
    }
  }

  test(s"a used index does not wait for data that comes much later, seed ${Seed.value}") {
    run("index") { driver =>
      for (early <- 1 to 9) {
        driver.host.silent = false
        driver.host.steady = true
        driver.host.latency = 60
        prepare(driver)
        val before = driver.host.payloads
        add(driver, 12, 16, align = 16)
        driver.publish(1)
        driver.until("the early reads")(driver.host.payloads == before + early)
        driver.host.latency = 3000
        driver.until("the used index", 200)(usedIndex(driver) == early)
        driver.until("the other used chains")(usedIndex(driver) == 12)
        driver.reset()
      }
    }
  }

  /** Faults in a chain behind plain chains: what the chain is, its flags and next, and the
    * violation.
    */
  for (
    (name, flags, next, reason) <- Seq(
      ("a next descriptor beyond the table", 1, Size, Violation.nextEntry),
      ("a buffer to write", 2, 0, Violation.direction),
      ("an indirect table that is ragged", 4, 0, Violation.indirect)
    )
  )
    test(s"$name behind plain chains stops the device behind them, seed ${Seed.value}") {
      run(name.replace(' ', '_')) { driver =>
        for (_ <- 0 until 4) {
          driver.host.silent = false
          driver.host.latency = 200
          driver.host.steady = driver.random.nextBoolean()
          prepare(driver)
          val plain = 1 + driver.random.nextInt(40)
          add(driver, plain, 100)
          val queue = driver.transmit
          val place = (driver.memory.make(70, 16), 70)
          driver.memory.grant(place._1, place._2, 1)
          queue.descriptor(queue.descriptors, Size - 1, place, flags, next)
          queue.offer(Size - 1)
          add(driver, 3, 100)
          driver.publish(1)
          stops(driver, reason)
          assert(usedIndex(driver) == plain, s"not all of $plain chains are used")
          driver.collect()
          assert(driver.sent.startsWith(driver.received), "other bytes came back")
          worksAgain(driver)
          driver.reset()
        }
      }
    }
}

object FlightTest {
  val console = VirtioParam.console.copy(patience = 200)

  lazy val compiled = LaneboxSim {
    val dut = VirtioDevices(Seq(console))
    ConsoleBench.indices(dut).foreach(_.simPublic())
    dut
  }
}
