// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.chains

import scala.collection.mutable
import scala.util.Random

import lanebox.virtio.{ConsoleDriver, HostMemory}

/** One queue of a console, of which every used element is compared with what it must be.
  *
  * The device uses chains in the order in which they were offered. A driver either sleeps until an
  * interrupt comes, or polls, and then may forbid interrupts.
  */
class ChainQueue(driver: ConsoleDriver, random: Random, n: Int, messages: Messages) {
  val queue         = driver.queues(n)
  private val order = mutable.Queue[Int]() // The heads or IDs of the chains, as they were offered.
  var taken         = 0                    // Chains that were compared.
  var hidden        = 0                    // Chains that were not published yet.
  private var told  = 0                    // Used chains at the last interrupt.
  private var later = 0                    // Used chains that do not wake the driver.
  private var heard = 0                    // Interrupts since the driver has forbidden them.
  private var quiet = false                // The driver has forbidden them.
  var polls         = false

  /** Offers a chain with buffers of these lengths. A transmit queue's chain brings a message. */
  def add(parts: Seq[Int] = ChainQueue.lengths(random, queue.room)): Unit = {
    val table   = driver.indirect && random.nextInt(3) == 0
    val buffers = parts.map(bytes => (place(bytes), bytes))
    if (n == 1) {
      val data = new Array[Byte](parts.sum)
      random.nextBytes(data)
      var at = 0
      for ((buffer, bytes) <- buffers) {
        driver.memory.put(buffer, data.slice(at, at + bytes).toSeq)
        at += bytes
      }
      messages.sent(data)
    }
    order += queue.add(buffers, table)
    hidden += 1
  }

  /** Returns the address of a new buffer for the device to write. Some addresses are not mapped, so
    * the writes to them are lost.
    */
  private def place(bytes: Int): Long =
    if (n == 0 && random.nextInt(64) == 0)
      HostMemory.Unmapped | random.nextInt().toLong & 0xffffffffL
    else driver.memory.make(bytes, 1 << random.nextInt(7), random.nextInt(2))

  /** Takes back all chains that the device has used, and compares them. */
  def collect(): Unit =
    if (queue.unseen) for ((chain, bytes) <- queue.takeAll()) {
      val next = order.dequeue()
      assert(chain.entries.head == next, s"chain ${chain.entries.head} is used before $next")
      val want = if (n == 1) Seq() else messages.next(chain.buffers.map(_._2).sum)
      assert(bytes == want.size, s"$bytes bytes in a chain of queue $n, and not ${want.size}")
      compare(chain.buffers, want)
      taken += 1
    }

  /** Compares buffers that the device writes: behind its bytes they are as they were. */
  private def compare(buffers: Seq[(Long, Int)], want: Seq[Byte]): Unit = {
    var from = 0
    if (n == 0) for ((at, bytes) <- buffers) {
      val expected = want.slice(from, from + bytes).padTo(bytes, HostMemory.Unwritten)
      if (HostMemory.isMapped(at))
        assert(driver.memory.get(at, bytes) == expected, f"other bytes at $at%x of queue $n")
      from += bytes
    }
  }

  /** Chains that the device has, and has not used yet. */
  def open: Int = order.size - queue.waiting

  /** The queue's interrupt has come `count` times. */
  def interrupted(count: Int): Unit = {
    assert(count == 1, s"$count interrupts of queue $n at once")
    val now = taken + queue.waiting
    assert(now != told, s"an interrupt of queue $n, and no chain was used since the last one")
    told = now
    heard += 1
    // The device may have read the driver's wish before, and decides once more by what it read.
    assert(!quiet || heard <= 2, s"$heard interrupts of queue $n that the driver has forbidden")
    if (!polls) sleep()
  }

  /** Lets the driver sleep until an interrupt comes. It then looks at the queue once more. */
  def sleep(): Unit = {
    polls = false
    if (quiet) queue.forbidInterrupts(false)
    quiet = false
    do {
      collect()
      later = if (driver.eventIndex) random.nextInt(3) else 0
      queue.wantInterrupt(later)
    } while (queue.waiting > later)
  }

  def poll(): Unit = {
    polls = true
    if (!quiet && random.nextBoolean()) {
      quiet = true
      heard = 0
      queue.forbidAll()
    }
  }

  /** The device has nothing to do. A driver that sleeps must not miss what it has asked for. */
  def rest(): Unit = {
    assert(
      polls || queue.waiting <= later,
      s"no interrupt of queue $n: ${queue.waiting} used chains, more than $later were to wake"
    )
    if (!polls) sleep()
    // The device has all chains that were offered.
    if (order.isEmpty) assert(queue.isArmed, s"queue $n asks for no notification")
  }
}

object ChainQueue {

  /** Returns the lengths of a random chain's buffers. Most chains are short, and have one buffer. */
  def lengths(random: Random, room: Int): Seq[Int] = {
    val count = if (random.nextInt(3) > 0) 1 else 1 + random.nextInt(4)
    Seq.fill(count min room)(random.nextInt(16) match {
      case 0          => 1 + random.nextInt(16)
      case 1          => 16 + random.nextInt(600)
      case 2          => if (random.nextInt(8) == 0) 2040 + random.nextInt(16) else 32
      case n if n < 8 => 16 + random.nextInt(32)
      case _          => 1 + random.nextInt(100)
    })
  }
}
