// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import java.io.{BufferedReader, InputStreamReader, PrintWriter}
import scala.collection.mutable
import scala.util.Random

import lanebox.vocabulary.Seed

/** Compares DriverQueue, the model of a driver by which the tests drive the virtio engine, with a
  * device's side that others have written: the Rust crate `virtio-queue`.
  *
  * `RingReference PROGRAM CHAINS` passes random chains through random queues. The crate must find
  * the buffers of each chain, and DriverQueue must find each used element of the crate. Both must
  * agree on whether a notification or an interrupt is due. PROGRAM is built from
  * sim/test/virtio/virtio_crate/src/bin/ring_reference.rs, which has its commands.
  */
class RingReference(device: RingReference.Device, r: Random, seed: Int) {
  import RingReference._
  private val events = r.nextBoolean()
  private val writes = r.nextBoolean()
  private val size   = 1 << r.nextInt(9)
  private val memory = new HostMemory(r)
  private val base   = memory.make(4096, 4096)
  private val queue  = new DriverQueue(memory, r, size, writes, events)
  private val rings  = queue.places // the three areas of the queue
  private var used   = if (r.nextBoolean()) 0 else 65536 - r.nextInt(200)
  // The used index at the last question for an interrupt, and the one that the driver wants to be
  // told of; the available index up to which the device has asked for no notification.
  private var asked, wanted = used
  private var forbidden     = false
  private var listens       = true
  // The buffers to be read of each chain that the device has, by its head.
  private val toRead = mutable.Map[Int, Int]()
  private val taken  = mutable.ListBuffer[Int]()
  // The chains that the device has used in this step, by their heads, with the bytes written.
  private var expected = List[(Int, Int)]()
  var chains           = 0L
  var interrupts       = 0L
  var notifications    = 0L

  private def short(i: Int) = i & 0xffff

  def run(): Unit = {
    queue.startAt(used)
    if (r.nextBoolean()) queue.inOrder(stacked = r.nextBoolean())
    device.tell(
      s"queue $size ${if (events) 1 else 0} $base $MemoryBytes ${rings.map(_._1).mkString(" ")} $used"
    )
    rings.foreach(show)
    device.tell("listen 1")
    for (_ <- 0 until Steps) {
      add()
      serve()
      use()
      back()
    }
  }

  /** Copies memory of the driver to the device. */
  private def show(place: (Long, Int)): Unit = {
    val hex = memory.get(place._1, place._2).map(byte => f"$byte%02x").mkString
    device.tell(s"put ${place._1} $hex")
  }

  /** Adds chains, and publishes them. The driver must notify a device that has asked for it. */
  private def add(): Unit = {
    var added = 0
    while (queue.room > 0 && r.nextInt(5) > 0) {
      val indirect = r.nextInt(3) == 0
      val most     = if (indirect) size else queue.room min size
      val count    = 1 + r.nextInt(most min 6)
      val buffers  = Seq.fill(count)(1 + r.nextInt(3000)).map(n => (memory.make(n, 1), n))
      val reads    = if (writes) 0 else if (r.nextBoolean()) count else r.nextInt(count + 1)
      val head     = queue.add(buffers, indirect, reads)
      queue.chains(head).table.foreach(show)
      toRead(head) = reads
      added += 1
    }
    val notifies = queue.publish()
    show(rings(0))
    show(rings(1))
    assert(notifies == (added > 0 && listens), s"$added chains, notification $notifies")
    if (notifies) notifications += 1
  }

  /** Lets the device look for chains. It must find those of the driver, in order. */
  private def serve(): Unit = {
    device.tell("serve")
    val said = Iterator.continually(device.line()).takeWhile(_.nonEmpty).map(_.split(' ').toSeq)
    val found =
      said.map(words => words.head.toInt -> words.tail.map(_.split(':').map(_.toLong).toSeq))
    for ((head, parts) <- found) {
      val buffers = queue.chains(head).buffers
      val want = buffers.zipWithIndex.map { case ((at, bytes), i) =>
        Seq(at, bytes.toLong, if (i < toRead(head)) 0L else 1L)
      }
      assert(parts == want, s"chain $head: the crate found $parts, and not $want")
      taken += head
      chains += 1
    }
    assert(taken.size == queue.chains.size, "the crate has not found all chains")
    // With EVENT_IDX the device cannot forbid notifications. It asks for one behind each look.
    listens = events || r.nextBoolean()
    device.tell(s"listen ${if (listens) 1 else 0}")
  }

  /** Lets the device use some chains in any order, and compares what both say of the interrupt. */
  private def use(): Unit = {
    if (events && r.nextBoolean()) {
      val later = r.nextInt(4)
      queue.wantInterrupt(later)
      wanted = short(used + later)
    } else if (!events) {
      forbidden = r.nextBoolean()
      queue.forbidInterrupts(forbidden)
    }
    show(rings(1))
    val heads = r.shuffle(taken.toList).take(r.nextInt(taken.size + 1))
    val bytes = heads.map { head =>
      val length = r.nextInt(queue.chains(head).room + 1)
      device.tell(s"use $head $length")
      length
    }
    taken --= heads
    used = short(used + heads.size)
    device.tell("interrupts")
    val due =
      if (events) short(used - wanted - 1) < short(used - asked) else !forbidden
    assert((device.line() == "1") == due, s"an interrupt is due: $due, at $used behind $asked")
    if (due && heads.nonEmpty) interrupts += 1
    asked = used
    expected = heads.zip(bytes)
  }

  /** Lets the driver look at the used ring. It must find what the device has used, in order. */
  private def back(): Unit = {
    val (at, bytes) = rings(2)
    device.tell(s"get $at $bytes")
    memory.put(at, device.line().grouped(2).map(Integer.parseInt(_, 16).toByte).toSeq)
    val found = queue.takeAll().map { case (chain, bytes) => (chain.entries.head, bytes) }
    assert(found == expected, s"the driver found $found, and not $expected")
  }
}

object RingReference {
  // The memory of a queue in bytes, and the steps that a queue makes. A step needs at most 256
  // chains of 6 buffers of 3000 bytes, each some 5000 bytes behind the last one.
  val MemoryBytes = 1L << 31
  val Steps       = 100

  /** The program ring_reference. */
  class Device(program: String) {
    private val process =
      new ProcessBuilder(program).redirectError(ProcessBuilder.Redirect.INHERIT).start()
    private val to   = new PrintWriter(process.getOutputStream)
    private val from = new BufferedReader(new InputStreamReader(process.getInputStream))

    def tell(command: String): Unit = to.println(command)
    def line(): String = {
      to.flush()
      Option(from.readLine()).getOrElse(throw new AssertionError("the program has ended"))
    }
    def end(): Int = {
      to.close()
      process.waitFor()
    }
  }

  def main(args: Array[String]): Unit = {
    val Array(program, chains)            = args
    val device                            = new Device(program)
    var (done, interrupts, notifications) = (0L, 0L, 0L)
    var round                             = 0
    while (done < chains.toLong) {
      val queue = new RingReference(device, new Random(Seed.value.toLong << 32 | round), round)
      try queue.run()
      catch {
        case error: Throwable =>
          throw new AssertionError(s"seed ${Seed.value}, queue $round: ${error.getMessage}", error)
      }
      done += queue.chains
      interrupts += queue.interrupts
      notifications += queue.notifications
      round += 1
    }
    assert(device.end() == 0, "the program failed")
    println(s"$done chains, $round queues, $interrupts interrupts, $notifications notifications")
  }
}
