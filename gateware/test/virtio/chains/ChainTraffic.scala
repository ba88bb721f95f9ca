// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.chains

import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.virtio.{ConsoleDriver, VirtioDevices, VirtioRegisters}

/** Random chains of both queues of a console that echoes, until `goal` messages were sent and have
  * come back. `cycle` is called in each cycle, and does what the driver does.
  */
class ChainTraffic(dut: VirtioDevices, driver: ConsoleDriver, random: Random, goal: Int) {
  import ChainTraffic._
  val messages         = new Messages
  val receive          = new ChainQueue(driver, random, 0, messages)
  val transmit         = new ChainQueue(driver, random, 1, messages)
  private val queues   = Seq(receive, transmit)
  private val page     = dut.io.registers(0)
  private val pending  = mutable.Queue[Long]() // Notifications that are still to be written.
  private var writes   = false
  private val slow     = 1 + random.nextInt(24)
  private var pause    = 0
  private var sent     = 0
  private var quiet    = 0                     // Cycles in which nothing came from the device.
  private var before   = (0, 0)
  private var ends     = false                 // No more chains are offered.
  private def finished = sent >= goal && messages.size == 0 && transmit.open == 0
  private val watches  = random.nextBoolean()
  driver.host.watch = () => if (watches) queues.filter(_.polls).foreach(_.collect())

  def chains: Int   = queues.map(_.taken).sum
  def done: Boolean = (ends || finished) && pending.isEmpty && !writes

  /** Ends the traffic where it is. */
  def end(): Unit = ends = true

  /** Compares what the device has used. */
  def collect(): Unit = queues.foreach(_.collect())

  def cycle(): Unit = {
    notifyNext()
    for ((queue, n) <- queues.zipWithIndex) {
      val came = driver.interrupts(n)
      if (came > 0) queue.interrupted(came)
    }
    if (!ends) {
      watch()
      if (pause > 0) pause -= 1
      else {
        act()
        pause = random.nextInt(slow)
      }
    }
  }

  /** Sends a message of 64 bytes or more, if the queue has room. This and `drain` are for the end of
    * the traffic, and take cycles by themselves.
    */
  def feed(): Unit = {
    if (transmit.queue.room > 0) {
      transmit.add(Seq(64 + random.nextInt(200)))
      driver.publish(1)
    }
    transmit.collect()
  }

  /** Waits until the device has neither a receive chain nor a message. */
  def drain(): Unit = {
    var left = MostLooks
    queues.indices.foreach(driver.publish)
    while (receive.open > 0 || messages.size > 0) {
      assert(left > 0, s"${receive.open} chains and ${messages.size} messages are left")
      left -= 1
      if (messages.size == 0) feed()
      else if (receive.open == 0) {
        receive.add()
        driver.publish(0)
      }
      driver.step(50)
      collect()
    }
  }

  /** Writes a notification. The card's bus leaves a cycle between two of them. */
  private def notifyNext(): Unit =
    if (writes) {
      page.write #= false
      writes = false
    } else if (pending.nonEmpty) {
      page.address #= VirtioRegisters.QueueNotify / 4
      page.writeData #= pending.dequeue()
      page.write #= true
      writes = true
    }

  private def publish(n: Int): Unit = {
    val queue = driver.queues(n)
    queues(n).hidden = 0
    if (queue.publish())
      pending += (if (driver.hinted) n | queue.availableIndex.toLong << 16 else n.toLong)
  }

  private def act(): Unit = random.nextInt(8) match {
    case 0 | 1 | 2 =>
      val room = messages.size < MostMessages && messages.bytes < MostBytes
      if (sent < goal && room && transmit.queue.room > 0) {
        transmit.add()
        sent += 1
      }
      if (random.nextBoolean()) publish(1)
    case 3 | 4 =>
      if (receive.queue.room > 0 && !finished) receive.add()
      if (random.nextBoolean()) publish(0)
    case 5 => publish(1)
    case 6 => publish(0)
    case _ => queues(random.nextInt(2)).change()
  }

  /** Finds out whether the device rests while it has something to do. */
  private def watch(): Unit = {
    val now = (driver.host.reads, driver.host.writes)
    quiet = if (now == before && driver.host.rests && pending.isEmpty && !writes) quiet + 1 else 0
    before = now
    if (quiet > Settled && !driver.busy) {
      quiet = 0
      val asleep = transmit.open - transmit.hidden
      assert(asleep <= 0, s"the device rests beside $asleep chains to send")
      val free    = receive.open - receive.hidden
      val waiting = transmit.hidden == 0 && receive.queue.waiting == 0 && messages.size > 0
      assert(free <= 0 || !waiting, s"$free buffers, and a message that does not come")
      queues.foreach(_.rest())
    }
  }
}

object ChainTraffic {
  // The frame store must not become full, since a console then drops bytes.
  val MostMessages = 100
  val MostBytes    = 6000
  val MostLooks    = 2000
  val Settled      = 300 // Cycles after which no request and no interrupt is on its way.
}
