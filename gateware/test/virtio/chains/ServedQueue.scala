// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.chains

import scala.collection.mutable
import scala.util.Random

import lanebox.virtio.{ConsoleDriver, DriverQueue, HostMemory}

/** Queue `n` of a device, as its driver serves it. The driver either sleeps until an interrupt
  * comes, or polls, and then may forbid interrupts.
  *
  * The device uses chains in the order in which they were offered.
  */
abstract class ServedQueue(val driver: ConsoleDriver, random: Random, n: Int) {
  val queue: DriverQueue = driver.queues(n)
  private val order      = mutable.Queue[Int]() // The heads or IDs of the chains, as offered.
  var taken              = 0                    // Chains that were taken back.
  var hidden             = 0                    // Chains that were not published yet.
  private var told       = 0                    // Used chains at the last interrupt.
  private var later      = 0                    // Used chains that do not wake the driver.
  private var heard      = 0                    // Interrupts since the driver has forbidden them.
  private var quiet      = false                // The driver has forbidden them.
  var polls              = false

  /** Takes back all chains that the device has used, and compares them. */
  def collect(): Unit

  /** The queue was reset, so the device has given up the chains that it has not used. */
  def cut(): Unit = collect()

  protected def offer(buffers: Seq[(Long, Int)], table: Boolean): Unit = {
    order += queue.add(buffers, table)
    hidden += 1
  }

  /** Returns the chains that the device has used, with the bytes that were written to each. */
  protected def takeBack(): Seq[(queue.Chain, Int)] =
    if (!queue.unseen) Seq()
    else {
      val used = queue.takeAll()
      for ((chain, _) <- used) {
        val next = order.dequeue()
        assert(chain.entries.head == next, s"chain ${chain.entries.head} is used before $next")
      }
      taken += used.size
      used
    }

  /** Returns the `bytes` bytes that the device has written to a chain. The bytes behind them must be
    * as they were.
    */
  protected def written(buffers: Seq[(Long, Int)], bytes: Int): Seq[Byte] = {
    val (data, rest) = buffers.flatMap { case (at, size) => driver.memory.get(at, size) }
      .splitAt(bytes)
    assert(rest.forall(_ == HostMemory.Unwritten), s"other bytes in a chain of queue $n")
    data
  }

  /** Chains that the device has, and has not used yet. */
  def open: Int = order.size - queue.waiting

  /** The room of each chain that was published, and that the device has not used yet. */
  def rooms: Seq[Int] =
    order.toSeq.drop(queue.waiting).dropRight(hidden).map(head => queue.chains(head).room)

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

  /** Lets the driver poll, sleep or look once more. */
  def change(): Unit =
    if (!polls) { if (random.nextInt(4) == 0) poll() }
    else if (random.nextInt(4) == 0) sleep()
    else collect()

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
