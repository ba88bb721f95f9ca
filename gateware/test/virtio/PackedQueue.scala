// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import scala.util.Random

/** A packed virtqueue as a driver has it (VirtIO 1.2, 2.8): one ring of descriptors, in which the
  * device writes over those that it has used, and the event structures of both sides.
  *
  * Indices count descriptors and are 16 bits wide, so the driver computes places and wrap counters
  * from them. The IDs of its chains are any numbers.
  */
class PackedQueue(
    memory: HostMemory,
    random: Random,
    size: Int,
    writes: Boolean,
    eventIndex: Boolean
) extends DriverQueue(memory, random, size, writes, eventIndex) {
  import PackedQueue._

  override protected def areas: Seq[(Int, Int, Int)] =
    Seq((16 * size, 16, 1), (4, 4, 1), (4, 4, 3))
  override protected def names: List[Int] =
    Iterator.continually(random.nextInt(0x10000)).distinct.take(size).toList

  def wrap(index: Int): Boolean = (index / size & 1) == 0
  def place(index: Int): Int    = index % size | (if (wrap(index)) 0x8000 else 0)
  private def at(index: Int): Long        = descriptors + 16 * (index % size)
  private def flagsAt(index: Int): Int    = memory.number(at(index) + 14, 2).toInt
  private def isSet(flags: Int, bit: Int) = (flags >> bit & 1) == 1

  override def availableIndex: Int = place(index)
  def usedIndex: Int               = seen

  override def startAt(start: Int): Unit = {
    assert(start % size == 0)
    shown = start
    index = start
    seen = start
    for (n <- 0 until size)
      memory.put(at(n) + 14, if (wrap(start)) 0 else BigInt(1 << Available | 1 << Used), 2)
    memory.put(used, BigInt(place(start)), 2)
    wantInterrupt(0)
  }

  /** Writes the descriptor behind the last one, with the flags that make it available. */
  def put(buffer: (Long, Int), flags: Int, id: Int): Unit = {
    val (address, now) = (at(index), wrap(index))
    memory.put(address, BigInt(buffer._1), 8)
    memory.put(address + 8, BigInt(buffer._2), 4)
    memory.put(address + 12, BigInt(id), 2)
    memory.put(address + 14, BigInt(flags | 1 << (if (now) Available else Used)), 2)
    index = short(index + 1)
  }

  override def add(buffers: Seq[(Long, Int)], indirect: Boolean, toRead: Int): Int = {
    assert(toRead == (if (writes) 0 else Int.MaxValue), "a packed chain of both directions")
    val flag    = if (writes) Write else 0
    val entries = Seq.fill(if (indirect) 1 else buffers.size)(free.remove(0))
    val id      = entries.head
    memory.grant(at(index) + 8, 8, 3)
    def any = random.nextInt(0x10000)
    val table = if (indirect) {
      val bytes = 16 * buffers.size
      val place = memory.make(bytes, 1)
      memory.grant(place, bytes, 1)
      // Of an entry's flags only the direction counts, and its ID does not.
      for ((buffer, i) <- buffers.zipWithIndex)
        descriptor(place, i, buffer, any, flag | any & ~Write)
      put((place, bytes), Indirect, id)
      Some((place, bytes))
    } else {
      for ((buffer, i) <- buffers.zipWithIndex) {
        val last = i + 1 == buffers.size
        put(buffer, flag | (if (last) 0 else Next), if (last) id else any)
      }
      None
    }
    for ((at, bytes) <- buffers) memory.grant(at, bytes, right)
    chains(id) = Chain(entries, buffers, table, if (writes) buffers.map(_._2).sum else 0)
    id
  }

  override def publish(): Boolean = {
    val old = shown
    shown = index
    val flags = memory.number(used + 2, 2).toInt & 3
    val event = memory.number(used, 2).toInt
    assert(flags != AtPlace || eventIndex, "an event index that was not agreed on")
    if (old == index) false
    else if (flags == AtPlace) after(indexOf(event, index), index, old)
    else flags == 0
  }

  /** Returns the index with this place and wrap counter that is next to `near`, or behind it. */
  private def indexOf(event: Int, near: Int): Int = {
    val lap = (near & -size) - (if (isSet(event, 15) == wrap(near)) 0 else size)
    short(lap + (event & 0x7fff))
  }

  private def isUsed(index: Int): Boolean = {
    val flags = flagsAt(index)
    isSet(flags, Available) == wrap(index) && isSet(flags, Used) == wrap(index)
  }
  override def unseen: Boolean = isUsed(seen)
  override def waiting: Int = {
    def id(index: Int)   = memory.number(at(index) + 12, 2).toInt
    def next(index: Int) = short(index + chains(id(index)).entries.size)
    Iterator.iterate(seen)(next).takeWhile(isUsed).size
  }

  override protected def element(): (Int, Int) = {
    val flags = flagsAt(seen) & ~(1 << Available | 1 << Used)
    assert(flags == (if (writes) Write else 0), f"flags $flags%x of a used descriptor")
    (memory.number(at(seen) + 12, 2).toInt, memory.number(at(seen) + 8, 4).toInt)
  }

  override protected def pass(chain: Chain): Unit = {
    memory.grant(at(seen) + 8, 8, 1)
    seen = short(seen + chain.entries.size)
  }

  override def wantInterrupt(later: Int): Unit =
    if (eventIndex) memory.put(available, BigInt(AtPlace << 16 | place(short(seen + later))), 4)
  override def forbidInterrupts(forbidden: Boolean): Unit =
    if (!eventIndex) silence(forbidden)

  override def forbidAll(): Unit = silence(true)
  override def isArmed: Boolean = {
    val flags = memory.number(used + 2, 2).toInt & 3
    if (eventIndex) flags == AtPlace && memory.number(used, 2) == place(index) else flags == 0
  }

  /** Sets the flags that allow no interrupt, or every one. */
  def silence(silent: Boolean): Unit =
    memory.put(available + 2, BigInt(if (silent) Never else 0), 2)
}

object PackedQueue {
  // Flags of a descriptor.
  val Next     = 1
  val Write    = 2
  val Indirect = 4
  // Bits of a descriptor's flags.
  val Available = 7
  val Used      = 15
  // Flags of an event structure.
  val Never   = 1
  val AtPlace = 2
}
