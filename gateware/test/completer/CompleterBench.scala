// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.completer

import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.vocabulary.targets.{TargetCompletion, TargetRequest}

/** Test bench of the Completer. The bench stands for the hard block and the host at CQ and CC, and
  * for one client with a memory at each port.
  *
  * In each clock cycle the bench samples the pins as they were at the clock edge, then drives the
  * pins for the next cycle. Each variable `...Stall` is the chance of a stall in a cycle. The bench
  * checks the protocol; each test checks the results of its requests.
  */
class CompleterBench(dut: Completer, val random: Random, val mps: Int = 256) {
  var cqStall, ccStall, requestStall, completionStall = 0.0
  var ccHeld                                          = false
  // True if the model of the hard block already has all 32 non-posted credits, so that a further
  // grant may be lost. Only the test that resets the Completer without this model sets `saturates`.
  var saturates = false
  // A client answers each request after a random delay of fewer than `answerDelay` cycles.
  var answerDelay = 0
  // The share of reads, 0 to 1, that a client answers with an error.
  var failures = 0.0
  var cycle    = 0L
  val ports    = Seq.tabulate(dut.p.ports)(new Port(_))

  // The host's side -------------------------------------------------------------------------------
  // `next` gives the next request of the host, if any. Its argument says whether a non-posted
  // request is allowed in this cycle.
  var next: Boolean => Option[HostRequest] = _ => None
  var onCompletion: HostCompletion => Unit = _ => ()
  var onBegun: HostRequest => Unit         = _ => ()
  var credits, granted, consumed           = 0
  var inside, insideMost                   = 0
  // Cycles in which a beat was offered and not taken, on CQ by the card and on CC by the bench.
  var cqStalls, ccStalls                                 = 0
  val grantedAt, cqAt, ccAt                              = mutable.ArrayBuffer[Long]()
  private var sending: Option[HostRequest]               = None
  private var at                                         = 0
  private var answer                                     = mutable.ArrayBuffer[Long]()
  private var answerFrom                                 = 0L
  private var offered: Option[(BigInt, BigInt, Boolean)] = None

  /** Says whether a completion on CC is the last one of its request. The test sets this function.
    */
  var isFinal: HostCompletion => Boolean = _ => true

  def midRequest: Boolean    = sending.nonEmpty && at > 0
  def midCompletion: Boolean = answer.nonEmpty
  def idle: Boolean          = sending.isEmpty && ports.forall(_.idle)

  private def stall(chance: Double) = chance > 0 && random.nextDouble() < chance

  private def driveCq(): Unit = {
    sending match {
      case Some(request) =>
        val words = request.words.slice(at * 8, at * 8 + 8)
        val last  = (at + 1) * 8 >= request.words.size
        dut.io.cq.valid #= true
        // Lanes and bits of CQ that PG213 leaves undefined get random values.
        dut.io.cq.data #= HostRequest.pack(words ++ HostRequest.words(random, 8 - words.size))
        dut.io.cq.keep #= (1 << words.size) - 1
        dut.io.cq.last #= last
        dut.io.cq.start #= at == 0
        dut.io.cq.firstBe #= (if (at == 0) request.firstBe else random.nextInt(16))
        dut.io.cq.lastBe #= (if (at == 0) request.lastBe else random.nextInt(16))
        dut.io.cq.byteEnable #= 0
        dut.io.cq.discontinue #= last && request.discontinue
      case None =>
        dut.io.cq.valid #= false
        dut.io.cq.start #= random.nextBoolean()
        dut.io.cq.last #= random.nextBoolean()
        dut.io.cq.discontinue #= random.nextBoolean()
    }
  }

  private def stepCq(): Unit = {
    if ((dut.io.npRequest.toInt & 1) == 1) {
      credits += 1
      granted += 1
      grantedAt += cycle
      if (saturates) credits = credits min 32
      assert(credits <= 32, "more than 32 credits: the block would have lost one")
    }
    assert((dut.io.npRequest.toInt & 2) == 0)
    if (sending.nonEmpty && !dut.io.cq.ready.toBoolean) cqStalls += 1
    for (request <- sending if dut.io.cq.ready.toBoolean) {
      cqAt += cycle
      at += 1
      if (at * 8 >= request.words.size) sending = None
    }
    if (sending.isEmpty && !stall(cqStall)) {
      sending = next(credits > 0)
      at = 0
      for (request <- sending) {
        if (!request.posted) {
          assert(credits > 0)
          credits -= 1
          consumed += 1
          inside += 1
          insideMost = insideMost max inside
        }
        onBegun(request)
      }
    }
    driveCq()
  }

  private def stepCc(): Unit = {
    val valid = dut.io.cc.valid.toBoolean
    assert(valid || answer.isEmpty, s"cycle $cycle: CC valid fell inside a TLP")
    if (valid) {
      val beat = (dut.io.cc.data.toBigInt, dut.io.cc.keep.toBigInt, dut.io.cc.last.toBoolean)
      assert(offered.forall(_ == beat), s"cycle $cycle: a beat offered on CC changed")
      offered = Some(beat)
    } else assert(offered.isEmpty, s"cycle $cycle: a beat offered on CC was taken back")
    if (valid && !dut.io.cc.ready.toBoolean) ccStalls += 1
    if (valid && dut.io.cc.ready.toBoolean) {
      val (data, keep, last) = offered.get
      offered = None
      ccAt += cycle
      val count = keep.bitLength
      assert(keep == (BigInt(1) << count) - 1 && count > 0 && (last || count == 8), "CC keep")
      if (answer.isEmpty) answerFrom = cycle
      for (i <- 0 until count) answer += (data >> (32 * i) & 0xffffffffL).toLong
      if (last) {
        val completion = HostCompletion(answer.toSeq, answerFrom, cycle)
        answer = mutable.ArrayBuffer[Long]()
        assert(completion.rest == 0, "reserved fields of a completion")
        if (isFinal(completion)) inside -= 1
        onCompletion(completion)
      }
    }
    dut.io.cc.ready #= !ccHeld && !stall(ccStall)
  }

  // A client at a port of the Completer -----------------------------------------------------------
  case class Beat(last: Boolean, first: Boolean, fill: TargetCompletion => Unit)

  class Port(index: Int) {
    val port = dut.io.ports(index)
    // The memory of this port's client: (BAR, offset in bytes) -> byte.
    val memory = mutable.Map[(Int, Int), Int]()
    // For each request that the Completer passed to this port: the cycle in which it was first
    // offered.
    val validAt = mutable.ArrayBuffer[Long]()
    val answeredAt =
      // For each completion that this port's client sent: the cycle in which it was first offered.
      mutable.ArrayBuffer[Long]()
    var writes, reads                                     = 0
    var answer: (HostRequest => Seq[Int])                 = _ => Nil
    private val due                                       = mutable.ArrayBuffer[(Long, Seq[Beat])]()
    private val current                                   = mutable.Queue[Beat]()
    private var shown                                     = false
    private var mid                                       = false
    private var words                                     = Vector[Long]()
    private var stable: Option[(Boolean, BigInt, BigInt)] = None

    def idle: Boolean = due.isEmpty && current.isEmpty && !mid

    def byte(bar: Int, offset: Int): Int = memory.getOrElse((bar, offset), 0)
    private def word(bar: Int, offset: Int): Long =
      (0 to 3).map(i => byte(bar, offset + i).toLong << (8 * i)).sum

    private val windows = dut.p.windows.filter(_.target == index)
    private def checkWindow(p: TargetRequest): Unit = {
      val (bar, offset) = (p.bar.toInt, p.offset.toLong)
      val holding = windows.indices.filter { i =>
        val w = windows(i)
        w.bar == bar && offset >= w.base && offset < w.base + w.size
      }
      assert(
        holding.size == 1 && p.window.toInt == 1 << holding.head,
        s"cycle $cycle: port $index: windows ${p.window.toInt} of BAR $bar + $offset, not $holding"
      )
    }

    private def seen(p: TargetRequest): HostRequest = HostRequest(
      if (p.write.toBoolean) 1 else 0,
      p.address.toBigInt,
      p.dwords.toInt,
      p.firstBe.toInt,
      p.lastBe.toInt,
      p.bar.toInt,
      32,
      p.requester.id.toInt,
      p.requester.tag.toInt,
      p.requester.function.toInt,
      p.requester.trafficClass.toInt,
      p.requester.attributes.toInt
    )

    private def perform(request: HostRequest, offset: Int): Unit =
      if (request.kind == HostRequest.Write) {
        writes += 1
        for (d <- 0 until request.dwords; i <- 0 to 3 if (request.enable(d) >> i & 1) == 1)
          memory((request.bar, offset + d * 4 + i)) = (words(d) >> (8 * i) & 0xff).toInt
      } else {
        reads += 1
        val data = (0 until request.dwords).map(d => word(request.bar, offset + d * 4))
        val beats =
          if (failures > 0 && random.nextDouble() < failures)
            Seq(failure(request, offset, if (random.nextBoolean()) 1 else 4))
          else pieces(request, offset, data)
        due += ((cycle + (if (answerDelay > 0) random.nextInt(answerDelay) else 0), beats.flatten))
      }

    private def requester(c: TargetCompletion, r: HostRequest): Unit = {
      c.requester.id #= r.requester
      c.requester.tag #= r.tag
      c.requester.trafficClass #= r.trafficClass
      c.requester.attributes #= r.attributes
      c.requester.function #= r.function
    }

    private def failure(r: HostRequest, offset: Int, status: Int): Seq[Beat] =
      Seq(Beat(
        last = true,
        first = true,
        { c =>
          requester(c, r)
          c.status #= status
          c.lowerAddress #= (offset & 0x7c) + r.skip
          c.byteCount #= r.span
          // In a completion with an error the length has no meaning, so the client sends a random
          // one.
          c.dwords #= random.nextInt(2048)
          c.final_ #= true
          c.request.address #= r.address
          c.request.dwords #= r.dwords
          c.request.firstBe #= r.firstBe
          c.request.lastBe #= r.lastBe
        }
      ))

    private def pieces(r: HostRequest, offset: Int, data: Seq[Long]): Seq[Seq[Beat]] = {
      val list = mutable.ArrayBuffer[Seq[Beat]]()
      var done = 0
      while (done < r.dwords) {
        val from  = offset + done * 4
        val count = (r.dwords - done) min ((mps - from % mps) / 4)
        val first = done
        list += (0 until count by 8).map { at =>
          Beat(
            at + 8 >= count,
            at == 0,
            { c =>
              requester(c, r)
              c.status #= 0
              c.lowerAddress #= (from & 0x7c) + (if (first == 0) r.skip else 0)
              c.byteCount #= (if (first == 0) r.span else r.span + r.skip - first * 4)
              c.dwords #= count
              c.final_ #= first + count == r.dwords
              c.request.address.randomize()
              val lanes = data.slice(first + at, first + at + 8 min first + count)
              c.data #= HostRequest.pack(lanes ++ HostRequest.words(random, 8 - lanes.size))
            }
          )
        }
        done += count
      }
      list.toSeq
    }

    private def stepRequest(): Unit = {
      val valid = port.request.valid.toBoolean
      if (valid) {
        val p     = port.request.fragment
        val write = p.write.toBoolean
        val left  = if (write) (p.dwords.toInt - words.size) min 8 max 0 else 0
        val data  = if (write) p.data.toBigInt & ((BigInt(1) << (32 * left)) - 1) else BigInt(0)
        val look  = (port.request.last.toBoolean, data, p.address.toBigInt)
        if (stable.isEmpty && !mid) validAt += cycle
        assert(stable.forall(_ == look), s"cycle $cycle: port $index: an offered request changed")
        stable = Some(look)
        checkWindow(p)
        if (port.request.ready.toBoolean) {
          stable = None
          if (write)
            words = words ++ (0 until left).map(i => (data >> (32 * i) & 0xffffffffL).toLong)
          mid = !port.request.last.toBoolean
          if (!mid) {
            val request = seen(p)
            if (write) assert(words.size == request.dwords, "beats of a write")
            perform(request, p.offset.toLong.toInt)
            words = Vector()
          }
        }
      } else assert(stable.isEmpty, s"cycle $cycle: port $index: an offered request was taken back")
      port.request.ready #= !stall(requestStall)
    }

    private def stepCompletion(): Unit = {
      if (shown && port.completion.ready.toBoolean) {
        current.dequeue()
        shown = false
      }
      if (!shown) {
        if (current.isEmpty && !stall(completionStall)) {
          val ready = due.indices.filter(due(_)._1 <= cycle)
          if (ready.nonEmpty) {
            val (time, beats) = due(if (answerDelay > 0) ready(random.nextInt(ready.size)) else 0)
            due -= ((time, beats))
            current ++= beats
          }
        }
        port.completion.valid #= current.nonEmpty
        for (beat <- current.headOption) {
          if (beat.first) answeredAt += cycle + 1
          beat.fill(port.completion.fragment)
          port.completion.last #= beat.last
          shown = true
        }
      }
    }

    def step(): Unit = {
      stepRequest()
      stepCompletion()
    }
  }

  // The start and the cycles of the bench ---------------------------------------------------------
  def start(npMax: Int = 32): Unit = {
    dut.io.npMax #= npMax
    dut.io.maxPayload #= Integer.numberOfTrailingZeros(mps / 128)
    dut.io.stop #= false
    dut.io.clear #= false
    dut.io.cq.valid #= false
    dut.io.cc.ready #= false
    for (port <- ports) {
      port.port.request.ready #= false
      port.port.completion.valid #= false
    }
    dut.clockDomain.forkStimulus(10)
    dut.clockDomain.onSamplings(step())
    dut.clockDomain.waitSamplingWhere(cycle > 0)
  }

  private def step(): Unit = {
    cycle += 1
    stepCq()
    stepCc()
    ports.foreach(_.step())
  }

  def run(cycles: Int): Unit = dut.clockDomain.waitSampling(cycles)

  def runUntil(done: => Boolean, limit: Int): Unit = {
    var left = limit
    while (!done) {
      assert(left > 0, s"still not done after $limit cycles")
      left -= 1
      dut.clockDomain.waitSampling()
    }
  }
}
