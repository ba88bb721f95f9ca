// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.virtio.vocabulary.VirtioParam

import VirtioRegisters._

/** A driver of a virtio device: it sets the device up, sends bytes and collects what comes back.
  *
  * `device` is the number of the device in `dut`. If another device has a driver already, `beside`,
  * both have the same host.
  */
class ConsoleDriver(
    dut: VirtioDevices,
    val random: Random,
    features: BigInt,
    device: Int = 0,
    beside: Option[ConsoleDriver] = None
) {
  val memory: HostMemory = beside.fold(new HostMemory(random))(_.memory)
  val sent               = mutable.ArrayBuffer[Byte]()
  val received           = mutable.ArrayBuffer[Byte]()
  val eventIndex         = features.testBit(VirtioParam.EventIndex)
  val indirect           = features.testBit(VirtioParam.Indirect)
  val hinted             = features.testBit(VirtioParam.NotificationData)
  private val packed     = features.testBit(VirtioParam.Packed)
  var queues             = Seq[DriverQueue]()

  private val registers = dut.io.registers(device)
  private val cause     = dut.devices.take(device).map(_.queues + 1).sum
  if (beside.isEmpty) {
    for (page <- dut.io.registers) {
      page.write #= false
      page.address #= 0
    }
    dut.io.link #= true
    dut.io.now #= 0
    dut.io.h2c.ready #= false
    dut.io.c2h.valid #= false
    dut.clockDomain.forkStimulus(10)
  }
  val host: VirtioHost = beside.fold(new VirtioHost(dut, random, memory))(_.host)
  if (beside.isEmpty) dut.clockDomain.waitSampling(5)

  /** Says of each queue that the driver sets up whether the device writes its buffers. */
  def kinds: Seq[Boolean] = Seq(true, false)

  def receive: DriverQueue  = queues(0)
  def transmit: DriverQueue = queues(1)

  def busy: Boolean = dut.io.busy.toBoolean

  /** Returns how many interrupts of cause `n` have come since the last call. */
  def interrupts(n: Int): Int = {
    val came = host.interrupts(cause + n)
    host.interrupts(cause + n) = 0
    came
  }
  def step(cycles: Int = 1): Unit     = dut.clockDomain.waitSampling(cycles)
  def everyCycle(body: => Unit): Unit = dut.clockDomain.onSamplings(body)

  /** Writes a register. As the card's bus does, it leaves a cycle between two writes. */
  def write(offset: Int, value: Long): Unit = {
    registers.address #= offset / 4
    registers.writeData #= value
    registers.write #= true
    step()
    registers.write #= false
    step()
  }
  def read(offset: Int): Long = {
    registers.address #= offset / 4
    step(2)
    registers.readData.toLong
  }
  def until(what: String, cycles: Int = 20000)(condition: => Boolean): Unit = {
    var left = cycles
    while (!condition) {
      assert(left > 0, s"$what: not in $cycles cycles")
      left -= 1
      step()
    }
  }

  /** Initialises the device as VirtIO 1.2, 3.1.1 says, with rings of `size` entries. */
  def initialise(size: Int, ok: Boolean = true): Unit = {
    write(Status, 1)
    write(Status, 3)
    for (half <- 0 to 1) {
      write(DriverFeaturesSel, half)
      write(DriverFeatures, ((features >> (32 * half)) & 0xffffffffL).toLong)
    }
    write(Status, 11)
    assert(read(Status) == 11, "the device refuses the features")
    queues = kinds.map(newQueue(size, _))
    queues.indices.foreach(setUp)
    if (ok) write(Status, 15)
  }

  private def newQueue(size: Int, writes: Boolean): DriverQueue =
    if (packed) new PackedQueue(memory, random, size, writes, eventIndex)
    else new DriverQueue(memory, random, size, writes, eventIndex)

  /** Tells the device the addresses and the size of queue `n`. */
  private def setUp(n: Int): Unit = {
    val queue = queues(n)
    write(QueueSel, n)
    assert(read(QueueReady) == 0 && read(QueueNumMax) >= queue.size)
    write(QueueNum, queue.size)
    for (
      (offset, at) <- Seq(
        QueueDesc   -> queue.descriptors,
        QueueDriver -> queue.available,
        QueueDevice -> queue.used
      )
    ) {
      write(offset, at & 0xffffffffL)
      write(offset + 4, at >>> 32)
    }
    write(QueueReady, 1)
  }

  /** The registers with the indices of the device. */
  def indices = ConsoleBench.indices(dut)

  /** Stops queue `n`, waits until its last chain must have ended, and sets up a new queue `n`. */
  def renew(n: Int): Unit = {
    write(QueueSel, n)
    write(QueueReady, 0)
    step(3000)
    setUpAnew(n, queues(n).size)
  }

  /** Lets all indices of an idle device and its driver begin at `start`. */
  def startAt(start: Int): Unit = {
    for (index <- indices) index #= start & ((1 << index.getWidth) - 1)
    queues.foreach(_.startAt(start))
    step()
  }

  /** Asks for the reset of queue `n` alone. */
  def askForReset(n: Int): Unit = {
    write(QueueSel, n)
    write(QueueReset, 1)
  }

  /** Returns whether queue `n` is being reset. */
  def isReset(n: Int): Boolean = {
    write(QueueSel, n)
    read(QueueReset) == 1
  }

  /** Takes the memory of queue `n`, which was reset, away from the device, and writes over it. The
    * driver has an empty queue in its place, which the device does not know.
    */
  def bury(n: Int): Unit = {
    write(QueueSel, n)
    assert(read(QueueReady) == 0, s"queue $n is ready after its reset")
    for ((at, bytes) <- queues(n).places) {
      assert(!host.isRead(at, bytes), f"a read of $at%x is out after the reset of queue $n")
      memory.grant(at, bytes, 0)
      memory.put(at, Seq.fill(bytes)(random.nextInt().toByte))
    }
    interrupts(n)
    queues = queues.updated(n, newQueue(queues(n).size, kinds(n)))
  }

  /** Sets up a new queue `n` of `size` entries in other memory. */
  def setUpAnew(n: Int, size: Int): Unit = {
    queues = queues.updated(n, newQueue(size, kinds(n)))
    setUp(n)
  }

  /** Resets the device, and waits until it has answered. */
  def reset(): Unit = {
    write(Status, 0)
    until("the reset")(read(Status) == 0)
    assert(host.rests, "a read is out after the reset")
    host.silent = true
    memory.revokeAll()
    host.interrupts.indices.foreach(host.interrupts(_) = 0)
    sent.clear()
    received.clear()
  }

  /** Sets queue `n` up anew, with other rings, while the device still has a chain of the old ones.
    */
  def exchange(n: Int): Unit = {
    write(QueueSel, n)
    write(QueueReady, 0)
    setUpAnew(n, queues(n).size)
  }

  def publish(n: Int): Unit =
    if (queues(n).publish()) notify(n)
  def notify(n: Int): Unit = notify(n, queues(n).availableIndex)
  def notify(n: Int, index: Int): Unit =
    write(QueueNotify, if (hinted) n | index.toLong << 16 else n)

  /** Makes `count` buffers with `bytes` bytes in all, at any addresses. */
  def buffers(count: Int, bytes: Int): Seq[(Long, Int)] = {
    val cuts =
      Seq.fill(count - 1)(1 + random.nextInt(bytes - 1 max 1)).distinct.filter(_ < bytes).sorted
    val ends = cuts :+ bytes
    ends.zip(0 +: cuts).map { case (end, begin) => (memory.make(end - begin, 1), end - begin) }
  }

  def chain(n: Int, most: Int): Seq[(Long, Int)] =
    buffers(1 + random.nextInt(4 min queues(n).room), 1 + random.nextInt(most))
  def wantsTable: Boolean = indirect && random.nextBoolean()

  /** Adds a chain of up to `most` bytes, in a random number of buffers. */
  def send(most: Int): Unit             = send(chain(1, most), wantsTable)
  def send(most: Int, parts: Int): Unit = send(buffers(parts, 1 + random.nextInt(most)), false)
  private def send(parts: Seq[(Long, Int)], table: Boolean): Unit = {
    for ((at, bytes) <- parts) {
      val data = Seq.fill(bytes)(random.nextInt().toByte)
      memory.put(at, data)
      sent ++= data
    }
    transmit.add(parts, table)
  }
  def offer(most: Int): Unit = receive.add(chain(0, most), wantsTable)

  /** Takes back all chains that the device has used. */
  def collect(): Unit =
    for (queue <- queues; (chain, bytes) <- queue.takeAll() if queue eq receive) {
      var left = bytes
      for ((at, length) <- chain.buffers) {
        received ++= memory.get(at, left min length)
        left -= left min length
      }
    }

  /** Collects from a queue only if its interrupt has come, like a driver that sleeps until then. */
  def onInterrupts(later: => Int): Unit =
    for ((queue, n) <- queues.zipWithIndex if interrupts(n) > 0) {
      do {
        collect()
        queue.wantInterrupt(later)
      } while (queue.unseen)
    }
}
