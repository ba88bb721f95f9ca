// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.virtio.vocabulary.HostRequests
import lanebox.vocabulary.ReadError

/** Model of the endpoint's port and of the host behind it. VirtioHost checks each request against
  * the rules for clients of the endpoint. Writes arrive some cycles after they were taken, but
  * before a read or an interrupt that comes behind them. Reads are answered in order, some cycles
  * later, with the memory's contents at the read or at its answer, or with an error if there is no
  * memory. Where rings may be packed, each
  * line of 64 bytes is of one of the two times.
  */
class VirtioHost(dut: VirtioDevices, random: Random, memory: HostMemory) {
  // Data is ready 2 to `latency` + 1 cycles after its read, unless that of an older read delays it.
  var latency       = 30
  var steady        = false       // All reads take `latency`, and all requests are taken at once.
  var pauses        = 0.2         // Share of the cycles in which no request is taken.
  var fails         = 0.0         // Share of the reads that fail.
  var reads, writes = 0
  var payloads      = 0           // Reads of buffers.
  val heads         = Array(0, 0) // HeadReader's reads for receive and transmit queues.
  var failing: Option[Int] = None  // The buffer read that fails, counted from 0.
  var failedAt             = -1L   // Address of that read; -1: not asked yet.
  var silent               = false // No request may come any more.
  private val mixes        = dut.p.packed
  // Called after each write: a driver may look at its queues at any time.
  var watch: () => Unit = () => ()
  // Interrupts of each cause that have come and that the driver has not seen yet.
  val interrupts = Array.fill(dut.devices.map(_.queues + 1).sum)(0)

  private case class Read(
      address: Long,
      dwords: Int,
      context: Int,
      due: Long,
      behind: Int, // Number of the last write before the read.
      early: Option[Seq[BigInt]],
      fails: Boolean
  )
  private val asked    = mutable.Queue[Read]()
  private val beats    = mutable.Queue[(BigInt, Boolean, Int, Boolean)]()
  private var answered = Option.empty[Read] // The read that `beats` belong to.
  private val written  = mutable.ArrayBuffer[Byte]()
  private var fixed    = Seq[BigInt]()
  private var now      = 0L
  // Writes on their way to the memory: the cycle in which they arrive, their number, their bytes.
  private val posted  = mutable.Queue[(Long, Int, Seq[(Long, Byte)])]()
  private var stalled = 0 // Cycles for which the host still takes no request of the device.

  /** The reads that are out and have no data yet. */
  def out: Int = asked.size

  /** No read is outstanding. */
  def rests: Boolean = asked.isEmpty && beats.isEmpty

  /** Returns whether a read of one of the `bytes` bytes from `at` on is out. */
  def isRead(at: Long, bytes: Int): Boolean =
    (asked ++ answered.filter(_ => beats.nonEmpty))
      .exists(read => read.address < at + bytes && at < read.address + 4 * read.dwords)

  dut.io.request.ready #= false
  dut.io.data.valid #= false
  dut.clockDomain.onSamplings(cycle())

  private def cycle(): Unit = {
    now += 1
    while (posted.headOption.exists(_._1 <= now)) land(posted.head._2)
    for (n <- interrupts.indices if (dut.io.causes.toInt >> n & 1) == 1) {
      land(writes) // An interrupt leaves behind all earlier writes.
      interrupts(n) += 1
    }
    val data = dut.io.data
    if (data.valid.toBoolean && data.ready.toBoolean) beats.dequeue()
    val request = dut.io.request
    if (request.valid.toBoolean) assert(!silent, "a request from a device that was reset")
    if (request.valid.toBoolean && request.ready.toBoolean) take()
    // At times no request is taken for long, so that requests gather in the device.
    if (stalled == 0 && random.nextInt(300) == 0) stalled = random.nextInt(100)
    stalled = (stalled - 1) max 0
    request.ready #= steady || (random.nextDouble() >= pauses && stalled == 0)
    if (beats.isEmpty && asked.nonEmpty && asked.head.due <= now) answer(asked.dequeue())
    data.valid #= beats.nonEmpty && (steady || random.nextDouble() >= pauses / 2)
    for ((word, last, context, failed) <- beats.headOption) {
      data.fragment.data #= word
      data.last #= last
      data.fragment.context #= context
      data.fragment.error #= (if (failed) ReadError.aborted else ReadError.none)
    }
  }

  private def take(): Unit = {
    val request       = dut.io.request
    val address       = request.address.toBigInt.toLong
    val dwords        = request.dwords.toInt
    val (first, last) = (request.firstBe.toInt, request.lastBe.toInt)
    assert(address % 4 == 0 && dwords >= 1 && dwords <= 1024, f"$dwords dwords at $address%x")
    assert(first != 0 && (last == 0) == (dwords == 1), f"byte enables $first%x $last%x of $dwords")
    val now = Seq(
      BigInt(address),
      BigInt(dwords),
      BigInt(first),
      BigInt(last),
      if (request.write.toBoolean) BigInt(1) else BigInt(0)
    )
    if (written.isEmpty) fixed = now
    assert(now == fixed, "a field changed inside a request")
    if (!request.write.toBoolean) {
      assert(request.last.toBoolean)
      reads += 1
      // The kind of the read is above bit 0 of its context, which is 1 for transmit queues.
      val kind    = request.context.toInt >> 1
      val payload = request.context.toInt == (HostRequests.Payload << 1 | 1)
      if (kind != HostRequests.Payload && kind != HostRequests.Ring)
        heads(request.context.toInt & 1) += 1
      val unlucky = payload && failing.contains(payloads)
      if (payload) payloads += 1
      if (unlucky) failedAt = address
      if (random.nextBoolean()) land(writes)
      val lost  = !HostMemory.isMapped(address)
      val now   = if (lost) Seq() else (0 until dwords).map(i => memory.readDword(address + 4 * i))
      val early = if (posted.isEmpty) Some(now) else None
      asked += Read(
        address,
        dwords,
        request.context.toInt,
        this.now + (if (steady) latency else 2 + random.nextInt(latency)),
        writes,
        early,
        unlucky || lost
      )
    } else {
      val word = request.data.toBigInt
      written ++= (0 until 32).map(i => (word >> (8 * i)).toByte)
      assert(request.last.toBoolean == (written.size >= 4 * dwords), s"last with ${written.size}")
      if (request.last.toBoolean) {
        writes += 1
        val bytes = for {
          i <- 0 until 4 * dwords
          enables = if (i < 4) first else if (i / 4 == dwords - 1) last else 15
          if (enables >> (i % 4) & 1) == 1
        } yield (address + i, written(i))
        posted += ((this.now + random.nextInt(60), writes, bytes))
        written.clear()
      }
    }
  }

  /** Lets all writes up to this number arrive. */
  private def land(number: Int): Unit =
    while (posted.headOption.exists(_._2 <= number)) {
      for ((at, byte) <- posted.dequeue()._3) memory.writeByte(at, byte)
      watch()
    }

  private def answer(read: Read): Unit = {
    land(read.behind) // No read passes a write.
    answered = Some(read)
    val failed = read.fails || random.nextDouble() < fails
    // A buffer may belong to the driver again when a device that broke its rules is still reading.
    val words =
      if (failed) Seq.fill(read.dwords)(BigInt(0))
      else {
        val early = mutable.HashMap[Long, Boolean]() // Which of the read's lines are early ones.
        val whole = read.early.isDefined && random.nextBoolean()
        (0 until read.dwords).map { i =>
          val at   = read.address + 4 * i
          val line = if (mixes) early.getOrElseUpdate(at / 64, random.nextBoolean()) else whole
          read.early.filter(_ => line).fold(BigInt(memory.number(at, 4)))(_(i))
        }
      }
    val groups = words.grouped(8).toSeq
    for ((group, n) <- groups.zipWithIndex) {
      val word = group.zipWithIndex.map { case (dword, i) => dword << (32 * i) }.reduce(_ | _)
      beats += ((word, n == groups.size - 1, read.context, failed))
    }
  }
}
