// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.mmio

import scala.collection.mutable
import scala.util.Random
import spinal.core.sim._

import lanebox.vocabulary.Window

/** Model of a target behind a BAR window: the bytes that the host should find in it.
  *
  * With `whole` a dword is written only if all four of its bytes are enabled. Otherwise the dword
  * keeps its value.
  */
class TargetModel(
    val name: String,
    size: Int,
    val writable: Boolean = true,
    val whole: Boolean = false
) {
  val bytes = new Array[Byte](size)
  // Says for a byte address in the target whether accesses to it fail.
  var bad: Int => Boolean = _ => false
}

/** A memory request of the host to a BAR. `data` has all bytes of a write's dwords, enabled or not.
  */
case class HostRequest(
    write: Boolean,
    bar: Int,
    offset: Int,
    dwords: Int,
    firstBe: Int,
    lastBe: Int,
    data: Array[Byte] = Array()
) {
  def beats               = if (write) (dwords + 7) / 8 else 1
  def enables(dword: Int) = if (dword == 0) firstBe else if (dword == dwords - 1) lastBe else 15
  // Says whether byte n of the request is enabled. Byte 0 is the lowest byte of the first dword.
  def enabled(n: Int)     = ((enables(n / 4) >> (n % 4)) & 1) == 1
  def partial(dword: Int) = enables(dword) != 0 && enables(dword) != 15
  val single              = dwords == 1
  val firstGap            = if (firstBe == 0) 0 else Integer.numberOfTrailingZeros(firstBe)
  val lastGap = {
    val be = if (single) firstBe else lastBe
    if (be == 0) 3 else Integer.numberOfLeadingZeros(be) - 28
  }
  val bytes = 4 * dwords - firstGap - lastGap
}

/** A completion that the host expects for a read. `start` is the offset of the completion's first
  * dword in the BAR, in bytes.
  */
case class ExpectedPiece(
    start: Int,
    dwords: Int,
    byteCount: Int,
    lowerAddress: Int,
    last: Boolean,
    status: Int
)

/** Model of the host. MmioHost sends requests, has at most 32 reads outstanding, and checks every
  * completion.
  *
  * A read may return each byte with its value after all earlier requests, or with a value that a
  * later write gave it while the read was outstanding. Bytes that are not enabled are not checked.
  */
class MmioHost(dut: MmioDut, val random: Random) {
  val p = dut.p

  // What the host knows of the card ---------------------------------------------------------------

  val targets = (p.memories.map { m =>
    val model = new TargetModel(m.name, m.bytes.toInt, m.writable)
    for (a <- model.bytes.indices) model.bytes(a) = MmioDut.initial(m.name, a).toByte
    model
  } ++ Seq(new TargetModel("wishbone", 0x10000, whole = true), new TargetModel("axi", 0x40000)))
    .map(t => t.name -> t).toMap

  private def holds(w: Window[String], bar: Int, offset: Int) =
    w.bar == bar && offset >= w.base && offset < w.base + w.size
  def find(bar: Int, offset: Int): Option[(TargetModel, Int)] =
    p.windows.find(holds(_, bar, offset))
      .map(w => (targets(w.target), (offset - w.base + w.targetBase).toInt))

  // The host's outstanding reads, its credits and its counts --------------------------------------

  class Read(val request: HostRequest, val tag: Int, val number: Int, val from: Long) {
    val target  = find(request.bar, request.offset)
    val address = request.offset.toLong + 0x123400000000L
    val id      = random.nextInt(1 << 16)
    // Random values of the request's traffic class (bits 2:0), attributes (5:3) and function number
    // (13:6).
    val other = random.nextInt(1 << 14)
    val snapshot = target.fold(Array[Byte]()) { case (t, a) =>
      t.bytes.slice(a, a + 4 * request.dwords)
    }
    val later  = mutable.Map[Int, mutable.Set[Byte]]()
    var pieces = expected(request, target)
    var begun  = false
  }

  var mps = 128
  // The host's outstanding reads, by tag.
  val reads             = mutable.Map[Int, Read]()
  private val freeTags  = mutable.Queue.range(0, 256)
  private var readsSent = 0
  // The cycles in which non-posted credits return to the host.
  private var returning = mutable.Queue[Long]()
  var credits           = 32
  var creditDelay       = 0
  val waiting           = mutable.Queue[HostRequest]()
  var requestGap        = () => 0
  var completionReady   = () => true
  var strict            = false
  var cycle             = 0L
  var completed         = 0
  var errors            = 0
  var longest           = 0L
  // For each request of the host: the cycle in which the bridge took its last beat.
  val acceptedAt = mutable.ArrayBuffer[Long]()
  // For each request of the host: the cycle in which its first beat was first offered to the
  // bridge.
  val offeredAt = mutable.ArrayBuffer[Long]()
  // (cycle, tag) of each completion beat that the host has taken from the bridge.
  val completionBeats = mutable.ArrayBuffer[(Long, Int)]()
  // For each completion: the cycle in which the bridge first offered its first beat.
  val completionOffered = mutable.ArrayBuffer[Long]()
  var writesTaken       = 0
  // Number of written dwords that the bridge must refuse, since only some of their bytes are
  // enabled.
  var refused = 0

  /** Returns the byte enables that the host's outstanding reads have for the dword at byte
    * `address` of the target `name`.
    */
  def asked(name: String)(address: Int): Set[Int] = {
    for (
      read <- reads.values; (t, a) <- read.target; n = (address - a) / 4
      if t.name == name && address >= a && n < read.request.dwords
    ) yield read.request.enables(n)
  }.toSet

  /** Returns the completions that a read of the host must get, computed from the PCIe specification
    * and not from the hardware's code.
    */
  def expected(r: HostRequest, target: Option[(TargetModel, Int)]): List[ExpectedPiece] = {
    val end   = r.offset + 4 * r.dwords
    val piece = mps min 512
    def from(start: Int): List[ExpectedPiece] = {
      val cut   = (start / piece + 1) * piece min end
      val first = start == r.offset
      val count = end - start - (if (first) r.firstGap else 0) - r.lastGap
      val lower = (start + (if (first) r.firstGap else 0)) & 127
      val status = target match {
        case None => 1
        case Some((t, a)) =>
          val fails = (start until cut).exists(b =>
            r.enabled(b - r.offset) && t.bad(a + b - r.offset)
          )
          if (fails) 4 else 0
      }
      val here = ExpectedPiece(
        start,
        if (status == 0) (cut - start) / 4 else 0,
        count,
        lower,
        cut == end || status != 0,
        status
      )
      if (here.last) List(here) else here :: from(cut)
    }
    from(r.offset)
  }

  private var beat                       = 0
  private var gap                        = 0
  private var offer: Option[HostRequest] = None

  private def begin(r: HostRequest): Unit = {
    val q = dut.io.request
    q.write #= r.write
    q.bar #= r.bar
    q.window #= p.windows.zipWithIndex.collect {
      case (w, i) if holds(w, r.bar, r.offset) => 1 << i
    }.sum
    q.offset #= r.offset.toLong
    q.dwords #= r.dwords
    q.firstBe #= r.firstBe
    q.lastBe #= r.lastBe
    q.address #= r.offset.toLong + 0x123400000000L
    offer = Some(r)
    beat = 0
    if (!r.write) {
      val tag  = freeTags.dequeue()
      val read = new Read(r, tag, readsSent, cycle)
      readsSent += 1
      credits -= 1
      reads(tag) = read
      q.requester.tag #= tag
      q.requester.id #= read.id
      q.requester.trafficClass #= read.other & 7
      q.requester.attributes #= (read.other >> 3) & 7
      q.requester.function #= read.other >> 6
    } else {
      // The model carries out a write when its first beat is offered, since reads under way may
      // return the new bytes from then on.
      write(r)
      q.requester.tag #= random.nextInt(256)
    }
    offeredAt += cycle
    drive()
  }

  private def drive(): Unit = offer match {
    case None => dut.io.request.valid #= false
    case Some(r) =>
      dut.io.request.valid #= true
      dut.io.request.last #= beat == r.beats - 1
      if (r.write) {
        val data = r.data.slice(32 * beat, 32 * beat + 32).padTo(32, 0xee.toByte)
        dut.io.request.data #= BigInt(1, data.reverse)
      }
  }

  /** Applies a write to the model of its target. Notes the written bytes for the outstanding reads
    * that the write may overtake, since these reads may return either value.
    */
  private def write(r: HostRequest): Unit = for ((t, a) <- find(r.bar, r.offset) if t.writable) {
    val passed  = reads.values.filter(_.target.exists(_._1 eq t)).toSeq
    val refuses = (0 until r.dwords).map(n => t.whole && r.partial(n))
    refused += refuses.count(identity)
    for (n <- 0 until 4 * r.dwords if r.enabled(n) && !refuses(n / 4) && !t.bad(a + n)) {
      t.bytes(a + n) = r.data(n)
      for (read <- passed) {
        val at = a + n - read.target.get._2
        if (at >= 0 && at < 4 * read.request.dwords)
          read.later.getOrElseUpdate(at, mutable.Set()) += r.data(n)
      }
    }
  }

  // Checks of completions -------------------------------------------------------------------------

  private var inside: Option[(Read, ExpectedPiece)] = None
  private var left                                  = 0
  private var newBeats                              = true

  private def check(): Unit = {
    val c = dut.io.completion
    if (inside.nonEmpty) assert(c.valid.toBoolean, s"cycle $cycle: valid fell inside a completion")
    if (c.valid.toBoolean && newBeats && inside.isEmpty) completionOffered += cycle
    if (c.valid.toBoolean) newBeats = false
    if (c.valid.toBoolean && c.ready.toBoolean) {
      newBeats = true
      val tag = c.requester.tag.toInt
      completionBeats += ((cycle, tag))
      assert(reads.contains(tag), s"cycle $cycle: completion for tag $tag, which waits for none")
      val read  = reads(tag)
      val r     = read.request
      val piece = read.pieces.head
      val what = s"cycle $cycle: read of BAR${r.bar} + 0x${r.offset.toHexString}, " +
        s"${r.dwords} dwords, enables ${r.firstBe} ${r.lastBe}, MPS $mps, piece $piece"
      if (inside.isEmpty) {
        left = piece.dwords max 1
        if (!read.begun) checkOrder(read, what)
        read.begun = true
        inside = Some((read, piece))
      }
      assert(inside.get._1 eq read, s"$what: mixed with another")
      val got = (
        c.status.toInt,
        c.dwords.toInt,
        c.byteCount.toInt,
        c.lowerAddress.toInt,
        c.final_.toBoolean
      )
      assert(
        got == ((piece.status, piece.dwords, piece.byteCount, piece.lowerAddress, piece.last)),
        s"$what: header (status, dwords, bytes, lower, final) $got"
      )
      assert(
        c.requester.id.toInt == read.id &&
          (c.requester.trafficClass.toInt | c.requester.attributes.toInt << 3 |
            c.requester.function.toInt << 6) == read.other,
        s"$what: another's requester"
      )
      if (piece.status == 0) checkData(read, piece, what)
      else {
        errors += 1
        val e = c.request
        assert(
          (e.address.toBigInt.toLong, e.dwords.toInt, e.firstBe.toInt, e.lastBe.toInt) ==
            ((read.address, r.dwords, r.firstBe, r.lastBe)),
          s"$what: another's error information"
        )
      }
      left -= 8
      assert(c.last.toBoolean == (left <= 0), s"$what: last is wrong, $left dwords left")
      if (left <= 0) finish(read)
    }
  }

  private def fail(what: String): Unit = throw new AssertionError(what)

  private def checkOrder(read: Read, what: String): Unit = {
    val older = reads.values.filter(o => o.number < read.number)
    for (o <- older if strict || o.target.map(_._1) == read.target.map(_._1))
      fail(s"$what: before tag ${o.tag}, BAR${o.request.bar} + ${o.request.offset}")
  }

  private def checkData(read: Read, piece: ExpectedPiece, what: String): Unit = {
    val data = dut.io.completion.data.toBigInt
    val from = piece.start - read.request.offset + 4 * (piece.dwords - left)
    for (n <- 0 until 4 * (left min 8) if read.request.enabled(from + n)) {
      val got = ((data >> (8 * n)) & 255).toByte
      assert(
        got == read.snapshot(from + n) || read.later.get(from + n).exists(_.contains(got)),
        f"$what: byte ${from + n} is $got%02x, it was ${read.snapshot(from + n)}%02x"
      )
    }
  }

  private def finish(read: Read): Unit = {
    inside = None
    read.pieces = read.pieces.tail
    if (read.pieces.isEmpty) {
      reads -= read.tag
      freeTags += read.tag
      completed += 1
      longest = longest max (cycle - read.from)
      returning += cycle + creditDelay
    }
  }

  // The step of one clock cycle -------------------------------------------------------------------

  def step(): Unit = {
    check()
    if (offer.nonEmpty && dut.io.request.ready.toBoolean) {
      val r = offer.get
      beat += 1
      if (beat == r.beats) {
        if (r.write) writesTaken += 1
        acceptedAt += cycle
        offer = None
        gap = requestGap()
      } else drive()
    }
    while (returning.nonEmpty && returning.head <= cycle) {
      returning.dequeue()
      credits += 1
    }
    cycle += 1
    if (offer.isEmpty) {
      if (gap > 0) gap -= 1
      else if (waiting.nonEmpty && (waiting.head.write || credits > 0)) begin(waiting.dequeue())
    }
    drive()
    dut.io.completion.ready #= completionReady()
  }

  def quiet = waiting.isEmpty && offer.isEmpty && reads.isEmpty

  def reset(): Unit = {
    dut.io.request.valid #= false
    dut.io.completion.ready #= true
    dut.io.maxPayload #= 0
    dut.io.strict #= false
    dut.io.stop #= false
    dut.io.clearStatistics #= false
    dut.io.latencySelect #= 0
    dut.io.sizeSelect #= 0
  }
}
