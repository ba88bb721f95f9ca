// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.completer

import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.vocabulary.{Clearing, LaneboxSim, Seed, Window}

/** Tests the Completer. Any request that a host may send reaches its port exactly once and
  * unchanged, or is refused as the PCIe specification demands. Every non-posted request is answered
  * exactly once. Non-posted credits are never lost and never created. CqParser and CcFramer have no
  * suites of their own: they are tested here.
  */
class CompleterTest extends AnyFunSuite {
  val windows = Seq(
    Window(bar = 0, base = 0, size = 0x10000, target = 0),
    Window(bar = 2, base = 0x1000, size = 0x3000, target = 1),
    Window(bar = 2, base = 0x5000, size = 0x1000, target = 0)
  )
  val param         = CompleterParam(ports = 2, windows = windows)
  val aperture      = Map(0 -> 17, 2 -> 15)
  lazy val compiled = LaneboxSim(Completer(param))

  def port(r: HostRequest): Option[Int] = windows
    .find(w => w.bar == r.bar && r.offset >= w.base && r.offset < w.base + w.size)
    .map(_.target)

  /** The reference model of these tests: the expected contents of memory, the answers that the host
    * still expects, and the number of refused requests.
    */
  class Golden(dut: Completer, bench: CompleterBench) {
    val memory  = mutable.Map[(Int, Int), Int]()
    val waiting = mutable.Map[(Int, Int), (HostRequest, Option[Seq[Int]])]()
    // `dwords` has, for each outstanding read of the host by (requester, tag), the number of dwords
    // that have come back.
    val dwords = mutable.Map[(Int, Int), Int]()
    var reads, writes, unsupported, dropped, malformed, discontinued, failed = 0

    val served = Set(HostRequest.Read, HostRequest.Write)

    def begun(r: HostRequest): Unit = {
      val tooLong = r.kind == HostRequest.Write && r.dwords * 4 > bench.mps
      val bad     = served(r.kind) && (!r.legal || tooLong)
      val good    = served(r.kind) && !bad && port(r).isDefined && !r.discontinue
      val key     = (r.requester, r.tag)
      if (bad) malformed += 1
      if (r.discontinue) discontinued += 1
      if (r.posted) {
        if (good) {
          writes += 1
          for (d <- 0 until r.dwords; i <- 0 to 3 if (r.enable(d) >> i & 1) == 1)
            memory((r.bar, r.offset + d * 4 + i)) = (r.payload(d) >> (8 * i) & 0xff).toInt
        } else if (!(r.discontinue && served(r.kind) && !bad && port(r).isDefined)) dropped += 1
      } else {
        assert(!waiting.contains(key))
        if (good) reads += 1 else unsupported += 1
        val data = (0 until r.dwords * 4).map(i => memory.getOrElse((r.bar, r.offset + i), 0))
        waiting(key) = (r, if (good) Some(data) else None)
      }
    }

    def isFinal(c: HostCompletion): Boolean =
      c.status != 0 || waiting.get((c.requester, c.tag)).exists { case (r, _) =>
        dwords.getOrElse((c.requester, c.tag), 0) + c.dwords == r.dwords
      }

    def completed(c: HostCompletion): Unit = {
      val key = (c.requester, c.tag)
      assert(waiting.contains(key), s"a completion without an outstanding read: $c")
      val (r, data) = waiting(key)
      val came      = dwords.getOrElse(key, 0)
      assert(c.function == r.function && c.trafficClass == r.trafficClass)
      assert(c.attributes == r.attributes)
      assert(c.locked == (c.status != 0 && r.kind == 7), "the locked bit is wrong")
      if (c.status != 0) {
        assert(c.dwords == 0 && c.payload.size == 5, s"wrong form of an error completion for $r")
        val information = (r.firstBe | r.lastBe << 4).toLong +: r.words.take(4)
        val mask        = Seq(~0L, ~0L, ~0L, ~0L, ~0xff0000L & ~0xff000000L | 0xfe000000L)
        for (((a, b), m) <- c.payload.zip(information).zip(mask))
          assert((a & m) == (b & m & 0xffffffffL), f"request information $a%x for $b%x of $r")
        if (data.isEmpty) {
          assert(c.status == 1)
          val read = Set(0, 7)(r.kind)
          assert(c.lowerAddress == (if (read) (r.offset & 0x7c) + r.skip else 0))
          val bytes = r.kind match {
            case 0 | 7 => r.span
            case 4 | 5 => r.dwords * 4
            case 6     => r.dwords * 2
            case _     => 4
          }
          if (r.legal || !read) assert(c.byteCount == bytes, s"byte count ${c.byteCount} of $r")
        } else failed += 1
      } else {
        assert(data.isDefined, s"success for a request that had to be refused: $r")
        assert(c.payload.size == c.dwords && c.dwords > 0)
        val from = r.offset + came * 4
        assert(c.lowerAddress == (from & 0x7c) + (if (came == 0) r.skip else 0))
        assert(c.byteCount == (if (came == 0) r.span else r.span + r.skip - came * 4))
        for ((w, d) <- c.payload.zipWithIndex; i <- 0 to 3)
          assert((w >> (8 * i) & 0xff) == data.get((came + d) * 4 + i), s"data of $r")
        dwords(key) = came + c.dwords
      }
      if (c.status != 0 || dwords(key) == r.dwords) {
        waiting.remove(key)
        dwords.remove(key)
      }
    }

    def check(): Unit = {
      assert(waiting.isEmpty)
      val c = dut.io.counters
      assert(bench.ports.map(_.writes).sum == writes && bench.ports.map(_.reads).sum == reads)
      assert(c.unsupported.toLong == unsupported, s"$unsupported unsupported")
      assert(c.dropped.toLong == dropped && c.malformed.toLong == malformed)
      assert(c.discontinued.toLong == discontinued)
      assert(bench.inside == 0)
      for (((bar, offset), byte) <- memory) {
        val to = port(HostRequest(0, offset, 1, 15, 0, bar, 32)).get
        assert(bench.ports(to).byte(bar, offset) == byte, s"byte $offset of BAR $bar")
      }
    }
  }

  def address(random: Random, bar: Int): BigInt = {
    val low = random.nextInt(5) match {
      case 0 => random.nextInt(1 << (aperture(bar) - 2)) * 4
      case 1 =>
        (1 + random.nextInt((1 << (aperture(bar) - 12)) - 1)) * 4096 - 4 * random.nextInt(80)
      case _ => (bar match { case 0 => 0; case _ => 0x1000 }) + random.nextInt(64) * 4
    }
    (BigInt(random.nextInt() & 0xffffffffL) << aperture(bar)) + low % (1 << aperture(bar))
  }

  /** Makes a random request of any kind that CQ can carry; most are memory requests. */
  def any(random: Random, mps: Int, tag: Int): HostRequest = {
    val kind = random.nextInt(100) match {
      case n if n < 45 => HostRequest.Read
      case n if n < 85 => HostRequest.Write
      case n if n < 94 => 2 + random.nextInt(6)
      case _           => 12 + random.nextInt(3)
    }
    val bar   = if (random.nextInt(10) < 9) Seq(0, 2)(random.nextInt(2)) else 2
    val where = address(random, bar)
    val room  = (4096 - (where % 4096).toInt) / 4
    val most  = if (kind == HostRequest.Read) 1024 else if (kind == 1) mps / 4 else 8
    // A write longer than MPS is malformed: the Completer must drop it.
    val tooLong = kind == HostRequest.Write && random.nextInt(20) == 0
    val size = random.nextInt(4) match {
      case _ if tooLong => mps / 4 + 1 + random.nextInt(64)
      case 0            => 1
      case 1            => 1 + random.nextInt(4)
      case 2            => 1 + random.nextInt(most)
      case _            => Seq(2, 4, 8, 12, 16, 20, 32)(random.nextInt(7)) min most
    }
    val odd    = random.nextInt(40) == 0
    val dwords = if (odd) size else size min room
    val (first, last) =
      if (odd) (random.nextInt(16), random.nextInt(16))
      else HostRequest.enables(random, where, dwords)
    val payload = if (kind == HostRequest.Read || kind == 2 || kind == 7) 0 else dwords
    // The data of some writes looks like a CQ descriptor, and starts where a descriptor could start
    // in a beat. The Completer must not take it for one.
    val descriptor = HostRequest(HostRequest.Write, where - where % 8, 2, 15, 15).words
    val data =
      if (random.nextInt(4) > 0) HostRequest.words(random, payload)
      else Seq.tabulate(payload)(n => descriptor(n % 4))
    HostRequest(
      kind,
      where,
      dwords,
      first,
      last,
      bar,
      aperture(bar),
      random.nextInt(1 << 16),
      tag,
      random.nextInt(256),
      random.nextInt(8),
      random.nextInt(8),
      data,
      kind == HostRequest.Write && random.nextInt(20) == 0
    )
  }

  /** Returns the host's request unchanged, or with byte enables that break a rule of PCIe, or as a
    * write that the hard block discontinues, each in a third of all cases.
    */
  def spoiled(r: HostRequest, random: Random): HostRequest = random.nextInt(3) match {
    case 0 => r.copy(firstBe = 0, lastBe = 9)
    case 1 => r.copy(discontinue = r.kind == HostRequest.Write)
    case _ => r
  }

  def campaign(name: String, requests: Int, mps: Int)(set: CompleterBench => Unit): Unit =
    test(s"$name, seed ${Seed.value}") {
      compiled.doSim(name, Seed.value) { dut =>
        val random                    = new Random(Seed.value * 7919L + name.hashCode)
        val bench                     = new CompleterBench(dut, random, mps)
        val golden                    = new Golden(dut, bench)
        val tags                      = mutable.Queue.from(random.shuffle((0 to 255).toList))
        var left                      = requests
        var held: Option[HostRequest] = None
        var spoils                    = false
        bench.onBegun = { r => golden.begun(r); if (r.posted) tags += r.tag }
        bench.isFinal = golden.isFinal
        bench.onCompletion = { c =>
          golden.completed(c)
          if (!golden.waiting.contains((c.requester, c.tag))) tags += c.tag
        }
        bench.next = { nonPosted =>
          if (held.isEmpty && left > 0 && tags.nonEmpty) {
            left -= 1
            val request = any(random, mps, tags.dequeue())
            held = Some(if (spoils) spoiled(request, random) else request)
          }
          val now = held.filter(_.posted || nonPosted)
          if (now.nonEmpty) held = None
          now
        }
        set(bench)
        bench.start()
        bench.runUntil(
          left == 0 && held.isEmpty && bench.idle && golden.waiting.isEmpty,
          400 * requests
        )
        bench.run(20)
        golden.check()
        assert(
          bench.credits == 32 && bench.granted - bench.consumed == 32,
          "credits at rest are not all lent"
        )
        assert(bench.insideMost <= 32)
        info(s"${golden.reads} reads, ${golden.writes} writes, ${golden.unsupported} UR, " +
          s"${golden.dropped} dropped, ${golden.malformed} malformed, ${golden.discontinued} cut," +
          s" ${golden.failed} failed, most inside ${bench.insideMost}, ${bench.cycle} cycles")
        Clearing.check(dut.io.counters, dut.io.clear, dut.clockDomain)
        val busy = Set("unsupported", "dropped", "malformed", "discontinued")
        spoils = true
        left = Int.MaxValue
        Clearing.underLoad(dut.io.counters, dut.io.clear, random, busy)(bench.run(1))
      }
    }

  campaign("everything at once, stalls everywhere", 6000, 256) { b =>
    b.cqStall = 0.2; b.ccStall = 0.3; b.requestStall = 0.3; b.completionStall = 0.3
    b.answerDelay = 200; b.failures = 0.05
  }
  campaign("everything at once, nobody stalls", 6000, 512)(_ => ())
  campaign("everything at once, slow ports", 2000, 128) { b =>
    b.requestStall = 0.8; b.completionStall = 0.6; b.answerDelay = 50
  }
}
