// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.chains

import scala.util.Random

import lanebox.virtio.{ConsoleDriver, HostMemory}

/** One queue of a console, of which every used element is compared with what it must be. */
class ChainQueue(driver: ConsoleDriver, random: Random, n: Int, messages: Messages)
    extends ServedQueue(driver, random, n) {

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
    offer(buffers, table)
  }

  /** Returns the address of a new buffer for the device to write. Some addresses are not mapped, so
    * the writes to them are lost.
    */
  private def place(bytes: Int): Long =
    if (n == 0 && random.nextInt(64) == 0)
      HostMemory.Unmapped | random.nextInt().toLong & 0xffffffffL
    else driver.memory.make(bytes, 1 << random.nextInt(7), random.nextInt(2))

  def collect(): Unit =
    for ((chain, bytes) <- takeBack()) {
      val want = if (n == 1) Seq() else messages.next(chain.buffers.map(_._2).sum)
      assert(bytes == want.size, s"$bytes bytes in a chain of queue $n, and not ${want.size}")
      compare(chain.buffers, want)
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
