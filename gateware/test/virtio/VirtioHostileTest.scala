// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import scala.language.reflectiveCalls
import spinal.core.sim._

import lanebox.virtio.vocabulary.Violation
import lanebox.vocabulary.Seed

/** Tests that the console stops at every violation of the rules, says which one it was, and works
  * again after a reset.
  */
class VirtioHostileTest extends ConsoleBench {
  import VirtioRegisters._

  val Size = 16

  /** Tests that the device stops for `reason` after `act`, and makes no request until the reset. */
  def stops(
      name: String,
      reason: Violation.E,
      bits: BigInt = all,
      before: Int = 5
  )(act: ConsoleDriver => Unit): Unit =
    test(s"$name, seed ${Seed.value}") {
      run(name.replaceAll("[^a-z]+", "_"), bits) { driver =>
        for (round <- 0 to 1) {
          driver.host.silent = false
          driver.host.fails = 0
          driver.initialise(Size)
          if (round == 0) traffic(driver, before, 100)()
          driver.step(1000)
          driver.interrupts(2)
          act(driver)
          driver.until("NEEDS_RESET")((driver.read(Status) & 0x40) != 0)
          assert(driver.read(Reason) == reason.position)
          driver.until("the configuration's interrupt")(driver.interrupts(2) > 0)
          assert((driver.read(InterruptStatus) & 2) != 0)
          driver.step(200)
          driver.host.silent = true
          driver.notify(0)
          driver.notify(1)
          driver.write(Status, 15)
          assert((driver.read(Status) & 0x40) != 0, "only a reset ends a violation")
          driver.step(500)
          driver.host.silent = false
          driver.reset()
          driver.step(300)
        }
        driver.host.silent = false
        driver.host.fails = 0
        driver.initialise(Size)
        traffic(driver, 20, 100)()
      }
    }

  def buffer(driver: ConsoleDriver, bytes: Int = 64): (Long, Int) = {
    val at = driver.memory.make(bytes, 16)
    driver.memory.grant(at, bytes, 3)
    (at, bytes)
  }

  /** Puts descriptors from number 0 on, as (buffer, flags, next), and offers the first one. */
  def chain(driver: ConsoleDriver, n: Int)(entries: ((Long, Int), Int, Int)*): Unit = {
    val queue = driver.queues(n)
    for (((place, flags, next), i) <- entries.zipWithIndex)
      queue.descriptor(queue.descriptors, i, place, flags, next)
    queue.offer(0)
    queue.publish()
    driver.notify(n)
  }

  def table(driver: ConsoleDriver)(entries: ((Long, Int), Int, Int)*): (Long, Int) = {
    val place = buffer(driver, 16 * entries.size)
    for (((inner, flags, next), i) <- entries.zipWithIndex)
      driver.transmit.descriptor(place._1, i, inner, flags, next)
    place
  }

  for (ahead <- Seq(Size + 1, 0x8000, 0xffff))
    stops(s"an available index that is $ahead ahead", Violation.index, features()) { driver =>
      val now = driver.memory.number(driver.transmit.available + 2, 2)
      driver.memory.put(driver.transmit.available + 2, BigInt(now + ahead & 0xffff), 2)
      driver.notify(1)
    }
  for (head <- Seq(Size, 0xffff))
    stops(s"the head $head", Violation.head) { driver =>
      driver.transmit.offer(head)
      driver.transmit.publish()
      driver.notify(1)
    }
  stops("a next descriptor beyond the table", Violation.nextEntry)(driver =>
    chain(driver, 1)((buffer(driver), 1, Size))
  )
  stops("a next descriptor beyond an indirect table", Violation.nextEntry)(driver =>
    chain(driver, 1)((table(driver)((buffer(driver), 1, 2), (buffer(driver), 0, 0)), 4, 0))
  )
  stops("a chain of two descriptors without end", Violation.endless)(driver =>
    chain(driver, 1)((buffer(driver), 1, 1), (buffer(driver), 1, 0))
  )
  stops("a receive chain that points at itself", Violation.endless, before = 0) { driver =>
    chain(driver, 0)((buffer(driver, 1), 3, 0))
    // A message of up to 16 bytes would fit into the chain's first 16 buffers of a byte.
    for (_ <- 0 to 1) driver.transmit.add(Seq(buffer(driver, 500)))
    driver.notify(1)
    driver.transmit.publish()
    driver.notify(1)
  }
  stops("an indirect table without end", Violation.endless)(driver =>
    chain(driver, 1)((table(driver)((buffer(driver), 1, 0)), 4, 0))
  )
  stops("a buffer of no bytes", Violation.empty)(driver =>
    chain(driver, 1)((buffer(driver), 1, 1), ((buffer(driver)._1, 0), 0, 0))
  )
  stops("a buffer to write in a transmit queue", Violation.direction)(driver =>
    chain(driver, 1)((buffer(driver), 2, 0))
  )
  stops("a buffer to read in a receive queue", Violation.direction, before = 0) { driver =>
    chain(driver, 0)((buffer(driver), 0, 0))
    driver.send(30)
    driver.transmit.publish()
    driver.notify(1)
  }
  stops("an indirect table in an indirect table", Violation.indirect)(driver =>
    chain(driver, 1)((table(driver)((table(driver)((buffer(driver), 0, 0)), 4, 0)), 4, 0))
  )
  stops("an indirect table with a next descriptor", Violation.indirect)(driver =>
    chain(driver, 1)((table(driver)((buffer(driver), 0, 0)), 5, 1), (buffer(driver), 0, 0))
  )
  stops("an indirect table that is no multiple of its entries", Violation.indirect) { driver =>
    val (at, bytes) = table(driver)((buffer(driver), 0, 0))
    chain(driver, 1)(((at, bytes + 8), 4, 0))
  }
  stops("an indirect table of no entries", Violation.indirect)(driver =>
    chain(driver, 1)(((table(driver)((buffer(driver), 0, 0))._1, 0), 4, 0))
  )
  stops("an indirect table that was not agreed on", Violation.indirect, features())(driver =>
    chain(driver, 1)((table(driver)((buffer(driver), 0, 0)), 4, 0))
  )
  stops("a read that the host does not answer", Violation.read) { driver =>
    driver.host.fails = 1
    driver.send(300)
    driver.transmit.publish()
    driver.notify(1)
  }
  stops("a buffer that cannot be read", Violation.read) { driver =>
    driver.send(300)
    driver.transmit.publish()
    driver.notify(1)
    val before = driver.host.payloads
    driver.until("a read of a buffer")(driver.host.payloads > before)
    driver.host.fails = 1
  }
  for (
    (name, offset, value) <- Seq(
      ("descriptors", QueueDesc, 8L),
      ("an available ring", QueueDriver, 1L),
      ("a used ring", QueueDevice, 2L),
      ("a queue of three entries and its number", QueueNum, 3L),
      ("a queue of no entries and its number", QueueNum, 0L),
      ("a queue of too many entries and its number", QueueNum, 32L)
    )
  )
    stops(s"$name at a wrong place", Violation.setup) { driver =>
      driver.write(QueueSel, 0)
      driver.write(QueueReady, 0)
      assert(driver.read(QueueReady) == 0)
      driver.write(offset, value)
      driver.write(QueueReady, 1)
      assert(driver.read(QueueReady) == 0)
    }
}
