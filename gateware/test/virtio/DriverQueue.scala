// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import scala.collection.mutable
import scala.util.Random

/** A split virtqueue as a driver has it (VirtIO 1.2, 2.7): rings in the host's memory, chains that
  * the device has, and when to notify it.
  *
  * `writes` says that the device writes the buffers (a receive queue).
  */
class DriverQueue(
    memory: HostMemory,
    random: Random,
    val size: Int,
    writes: Boolean,
    eventIndex: Boolean
) {
  val Seq(descriptors, available, used) = for ((bytes, align, right) <- areas) yield {
    val at = memory.make(bytes, align)
    memory.grant(at, bytes, right)
    memory.put(at, Seq.fill(bytes)(0.toByte))
    at
  }
  protected val right = if (writes) 2 else 1

  /** Bytes and alignment of the queue's three areas, and the device's rights to them. */
  protected def areas: Seq[(Int, Int, Int)] =
    Seq((16 * size, 16, 1), (6 + 2 * size, 2, 1), (6 + 8 * size, 4, 3))

  /** A chain that the device has: its descriptors, its buffers, of which the device may write
    * `room` bytes, and its indirect table if it has one.
    */
  case class Chain(
      entries: Seq[Int],
      buffers: Seq[(Long, Int)],
      table: Option[(Long, Int)],
      room: Int
  )
  val chains          = mutable.HashMap[Int, Chain]()
  protected val free  = mutable.ListBuffer(random.shuffle(names): _*)
  private var stacks  = false // The descriptor that was given back last is used again next.
  protected var shown = 0     // The available index that the ring shows to the device.
  protected var index = 0     // The available index with the chains that are not published yet.
  protected var seen  = 0     // The used index up to which the driver has looked.

  /** The numbers by which the driver names its descriptors. */
  protected def names: List[Int] = (0 until size).toList

  /** Lets all indices begin at `start`. */
  def startAt(start: Int): Unit = {
    shown = start
    index = start
    seen = start
    memory.put(available + 2, BigInt(start), 2)
    memory.put(used + 2, BigInt(start), 2)
    memory.put(used + 4 + 8 * size, BigInt(start), 2)
    wantInterrupt(0)
  }

  /** Lets the driver use its descriptors in order, as Linux does. With `stacked` the descriptor
    * that was given back last is used first.
    */
  def inOrder(stacked: Boolean): Unit = {
    val ordered = free.sorted
    free.clear()
    free ++= ordered
    stacks = stacked
  }

  /** Lets the driver use its descriptors in runs, inside which they follow one another. */
  def inRuns(): Unit = {
    var left = free.sorted.toList
    val runs = mutable.ListBuffer[List[Int]]()
    while (left.nonEmpty) {
      val (run, others) = left.splitAt(1 + random.nextInt(12))
      runs += run
      left = others
    }
    free.clear()
    free ++= random.shuffle(runs.toList).flatten
  }

  /** Lets the driver use its descriptors in such an order that HeadReader cannot guess the next: it
    * is neither the same as before nor the one behind it.
    */
  def unguessable(): Unit = {
    val ordered = free.sortBy(n => (n * 3 % size, n))
    free.clear()
    free ++= ordered
  }

  /** Returns the place and length of all that the device knows of the queue's memory: its rings,
    * and the buffers and tables of the chains that the device has.
    */
  def places: Seq[(Long, Int)] =
    Seq(descriptors, available, used).zip(areas.map(_._1)) ++
      chains.values.flatMap(chain => chain.buffers ++ chain.table)

  /** Returns the numbers of the descriptors that the driver has. */
  def unused: Seq[Int] = free.toSeq

  /** Returns how many chains the device has used that the driver has not taken back. */
  def waiting: Int = short(memory.number(used + 2, 2).toInt - seen)

  def room: Int                                       = free.size
  def unseen: Boolean                                 = memory.number(used + 2, 2) != seen
  def availableIndex: Int                             = index // As a notification has it.
  protected def short(i: Int): Int                    = i & 0xffff
  protected def after(event: Int, now: Int, old: Int) = short(now - event - 1) < short(now - old)

  def descriptor(table: Long, entry: Int, buffer: (Long, Int), flags: Int, next: Int): Unit = {
    memory.put(table + 16 * entry, BigInt(buffer._1), 8)
    memory.put(table + 16 * entry + 8, BigInt(buffer._2), 4)
    memory.put(table + 16 * entry + 12, BigInt(flags), 2)
    memory.put(table + 16 * entry + 14, BigInt(next), 2)
  }

  /** Puts a number into the available ring as the head of a chain, even a wrong one. */
  def offer(head: Int): Unit = {
    memory.put(available + 4 + 2 * (index % size), BigInt(head), 2)
    index = short(index + 1)
  }

  /** Adds a chain of `buffers`, in an indirect table or with a descriptor of the queue for each. The
    * device reads the first `toRead` buffers and writes the others.
    */
  def add(
      buffers: Seq[(Long, Int)],
      indirect: Boolean = false,
      toRead: Int = if (writes) 0 else Int.MaxValue
  ): Int = {
    def fill(table: Long, entries: Seq[Int]): Unit =
      for ((buffer, i) <- buffers.zipWithIndex) {
        val more = i + 1 < buffers.size
        val next = if (more) entries(i + 1) else random.nextInt(65536)
        val flag = if (i < toRead) 0 else 2
        descriptor(table, entries(i), buffer, flag | (if (more) 1 else 0), next)
      }
    val entries = Seq.fill(if (indirect) 1 else buffers.size)(free.remove(0))
    val table = if (indirect) {
      val bytes = 16 * buffers.size
      val at    = memory.make(bytes, 1)
      memory.grant(at, bytes, 1)
      fill(at, 0 +: random.shuffle((1 until buffers.size).toList))
      descriptor(descriptors, entries.head, (at, bytes), 4, random.nextInt(65536))
      Some((at, bytes))
    } else {
      fill(descriptors, entries)
      None
    }
    for (((at, bytes), i) <- buffers.zipWithIndex)
      memory.grant(at, bytes, if (i < toRead) 1 else 2)
    chains(entries.head) = Chain(entries, buffers, table, buffers.drop(toRead).map(_._2).sum)
    offer(entries.head)
    entries.head
  }

  /** Shows the device the chains that were added. Returns whether the driver must notify it. */
  def publish(): Boolean = {
    val old = shown
    memory.put(available + 2, BigInt(index), 2)
    shown = index
    if (old == index) false
    else if (eventIndex) after(memory.number(used + 4 + 8 * size, 2).toInt, index, old)
    else (memory.number(used, 2) & 1) == 0
  }

  /** Takes back all chains that the device has used, with the bytes that were written to each. */
  def takeAll(): Seq[(Chain, Int)] =
    Iterator.continually(take()).takeWhile(_.isDefined).flatten.toSeq

  private def take(): Option[(Chain, Int)] =
    if (!unseen) None
    else {
      val (head, bytes) = element()
      assert(chains.contains(head), s"used element $head, which the device does not have")
      val chain = chains.remove(head).get
      assert(bytes <= chain.room, s"$bytes bytes in $chain")
      for ((at, length) <- chain.buffers ++ chain.table) memory.grant(at, length, 0)
      if (stacks) chain.entries ++=: free else free ++= chain.entries
      pass(chain)
      Some((chain, bytes))
    }

  /** Returns the next used element: the chain's head, and the bytes that were written. */
  protected def element(): (Int, Int) = {
    val at = used + 4 + 8 * (seen % size)
    (memory.number(at, 4).toInt, memory.number(at + 4, 4).toInt)
  }

  /** Goes on behind the used element of a chain. */
  protected def pass(chain: Chain): Unit = seen = short(seen + 1)

  /** Asks for an interrupt behind `later` more used entries, or for none. */
  def wantInterrupt(later: Int): Unit =
    if (eventIndex) memory.put(available + 4 + 2 * size, BigInt(short(seen + later)), 2)
  def forbidInterrupts(forbidden: Boolean): Unit =
    if (!eventIndex) memory.put(available, BigInt(if (forbidden) 1 else 0), 2)

  /** Asks for no interrupt, whether event indices were agreed on or not. With them it asks for one
    * that is far away.
    */
  def forbidAll(): Unit = if (eventIndex) wantInterrupt(0x7000) else forbidInterrupts(true)

  /** Returns whether the device wants to be notified of the next chain. */
  def isArmed: Boolean =
    if (eventIndex) memory.number(used + 4 + 8 * size, 2) == index
    else (memory.number(used, 2) & 1) == 0
}
