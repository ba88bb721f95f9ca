// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rc

import scala.collection.mutable
import scala.util.Random

/** Parameters of the modelled host: how it splits answers to reads, and when it sends them. `rcb`
  * and `mps` are in bytes, `latency` in cycles.
  */
case class HostTiming(
    rcb: Int = 64,
    mps: Int = 256,
    latency: Random => Long = _ => 100,
    inOrder: Boolean = false,
    // Completions end at multiples of `piece` bytes; with None, at random multiples of `rcb`.
    piece: Option[Int] = None,
    // Chance, in a cycle, that the host begins no completion although one is due.
    gap: Double = 0,
    // The rate of the PCIe link in bytes per cycle. With None only RC itself limits the rate.
    link: Option[Double] = None
)

/** A read of the card that is outstanding in the hard block. `claimed` is the cycle in which it was
  * issued.
  */
class HostRead(val tag: Int, val claim: TestClaim, val rcb: Int, val claimed: Long) {
  // The address of the next byte of the read that the host will send.
  var address: Int = claim.address
  var bytes: Int   = claim.dwords * 4

  private def touched(size: Int) = (address + bytes + size - 1) / size - address / size
  def headers: Int               = touched(rcb) max 1
  def data: Int                  = touched(16)

  def skip: Int = if (claim.firstBe == 0) 0 else Integer.numberOfTrailingZeros(claim.firstBe)

  def byteCount: Int = {
    val top = if (claim.dwords == 1) claim.firstBe else claim.lastBe
    if (claim.dwords == 1 && claim.firstBe == 0) 1
    else claim.dwords * 4 - skip - (Integer.numberOfLeadingZeros(top) - 28)
  }
}

/** Model of root complex and hard block behind the RC pins: memory, splitting of answers, latency,
  * order, and the completion space that outstanding reads may need. The board of sim/board has the
  * same rules.
  */
class ReturnHost(timing: HostTiming, random: Random, pins: RcPins, pooled: Boolean = false) {
  val memory: Array[Int] = Array.fill(ReturnHost.Dwords)(random.nextInt())
  val reads              = mutable.Map[Int, HostRead]()
  var faults: Faults     = NoFaults

  var headers, data, mostHeaders, mostData, mostUnits = 0
  var now, shown                                      = 0L

  private val waiting =
    mutable.PriorityQueue[(Long, Long, RcCompletion)]()(Ordering.by(e => (-e._1, -e._2)))
  private val expiring         = mutable.Queue[(Long, HostRead)]()
  private var sequence, lastAt = 0L
  private var repeated         = Option.empty[RcCompletion]
  // The cycle from which on the PCIe link is free for the next completion.
  private var linkFree = 0.0

  def pending: Boolean = waiting.nonEmpty || !pins.idle

  /** Takes a read TLP from the card. Fails if its tag is in use, or if the completion space has no
    * room for all its completions.
    */
  def issue(tag: Int, claim: TestClaim): Unit = {
    assert(!reads.contains(tag), s"tag $tag belongs to a read that is outstanding")
    val read = new HostRead(tag, claim, timing.rcb, now)
    reads(tag) = read
    count(read, 1)
    val fits = if (pooled) headers + data <= 2048 else headers <= 256 && data <= 2048
    assert(fits, s"completion space: $headers headers, $data data")
    mostHeaders = mostHeaders max headers
    mostData = mostData max data
    mostUnits = mostUnits max headers + data
    var at = if (timing.inOrder) lastAt else 0L
    for ((completion, delay) <- faults.strike(read, pieces(read), this)) {
      at = at max (now + timing.latency(random) + delay)
      send(at, completion)
    }
    lastAt = lastAt max at
  }

  def send(at: Long, completion: RcCompletion): Unit = {
    waiting.enqueue((at, sequence, completion))
    sequence += 1
  }

  /** Lets the hard block forget the read after `after` cycles, without a report to the card. */
  def expire(read: HostRead, after: Long): Unit = expiring.enqueue((now + after, read))

  private def forget(read: HostRead): Unit = if (reads.get(read.tag).contains(read)) {
    count(read, -1)
    reads.remove(read.tag)
  }

  def cycle(): Unit = {
    pins.cycle(next)
    now += 1
    while (expiring.headOption.exists(_._1 <= now)) forget(expiring.dequeue()._2)
  }

  private def next(used: Int): Option[RcCompletion] = {
    if (repeated.isDefined) {
      shown += 1
      val completion = repeated
      repeated = None
      return completion
    }
    if (waiting.isEmpty || waiting.head._1 > now || linkFree > now) return None
    if (timing.gap > 0 && random.nextDouble() < timing.gap) return None
    // In the beat in which a cut completion ends, no other completion begins or ends.
    if (used > 0 && waiting.head._3.cut) return None
    val completion = waiting.dequeue()._3
    shown += 1
    for (rate <- timing.link) {
      val bytes = completion.payload.length * 4 + ReturnHost.Overhead
      linkFree = (linkFree max now.toDouble) + bytes / rate
    }
    completion.read.foreach(release(_, completion))
    if (completion.twice) repeated = Some(completion)
    Some(completion)
  }

  private def count(read: HostRead, sign: Int): Unit = {
    headers += sign * read.headers
    data += sign * read.data
  }

  private def release(read: HostRead, completion: RcCompletion): Unit =
    if (reads.get(read.tag).contains(read)) {
      if (completion.done) forget(read)
      else {
        count(read, -1)
        val bytes = completion.dwords * 4 min read.bytes - 4
        read.address += bytes
        read.bytes -= bytes
        count(read, 1)
      }
    }

  /** Splits the host's answer to a read into completions, at boundaries that the PCIe base
    * specification 2.3.1.1 allows.
    */
  private def pieces(read: HostRead): Seq[RcCompletion] = {
    val list = mutable.Buffer[RcCompletion]()
    var at   = 0
    while (at < read.claim.dwords) {
      val address = read.claim.address + at * 4
      val count   = piece(address, (read.claim.dwords - at) * 4) / 4
      list += RcCompletion(
        tag = read.tag,
        address = if (at == 0) address + read.skip else address,
        byteCount = if (at == 0) read.byteCount else read.byteCount + read.skip - at * 4,
        dwords = count,
        payload = memory.slice(address / 4, address / 4 + count).toSeq,
        done = at + count == read.claim.dwords,
        read = Some(read)
      )
      at += count
    }
    list.toSeq
  }

  private def piece(address: Int, left: Int): Int = timing.piece match {
    case Some(unit) => left min (unit - address % unit)
    case None =>
      val first = timing.rcb - address % timing.rcb
      if (left <= first) return left
      val longest = left min timing.mps
      if (longest < first) return longest
      val ends   = (longest - first) / timing.rcb + 1
      val whole  = left <= timing.mps && (left - first) % timing.rcb != 0
      val chosen = random.nextInt(ends + (if (whole) 1 else 0))
      if (chosen == ends) left else first + chosen * timing.rcb
  }
}

object ReturnHost {
  val Dwords = 1 << 16

  // Bytes that a completion takes on the PCIe link besides its payload.
  val Overhead = 20
  // Rate of a Gen3 x8 link in bytes per cycle of 4 ns, less DLLPs and skips at an MPS of 256 B.
  val Gen3x8 = 8 * 8.0 / 8 * 128 / 130 * (1 - 0.0125) * 4
}

/** Source of faults in the host's answers. For each read it gives the completions that the host
  * sends, each with its delay in cycles.
  */
trait Faults {
  def strike(
      read: HostRead,
      pieces: Seq[RcCompletion],
      host: ReturnHost
  ): Seq[(RcCompletion, Long)]
}

object NoFaults extends Faults {
  def strike(read: HostRead, pieces: Seq[RcCompletion], host: ReturnHost) = pieces.map((_, 0L))
}
