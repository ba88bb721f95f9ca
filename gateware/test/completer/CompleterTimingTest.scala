// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.completer

import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.vocabulary.{LaneboxSim, Seed}

/** Checks the Completer's latencies and rates in cycles, and the cycles in which it grants
  * non-posted credits. Every number must be met exactly.
  */
class CompleterTimingTest extends AnyFunSuite {
  val param         = CompleterParam(ports = 2)
  lazy val compiled = LaneboxSim(Completer(param))

  def write(address: Int, dwords: Int, random: Random): HostRequest = HostRequest(
    HostRequest.Write,
    address,
    dwords,
    15,
    if (dwords == 1) 0 else 15,
    aperture = 20,
    payload = HostRequest.words(random, dwords)
  )
  def read(address: Int, dwords: Int, tag: Int, bar: Int = 0): HostRequest = HostRequest(
    HostRequest.Read,
    address,
    dwords,
    15,
    if (dwords == 1) 0 else 15,
    bar,
    20,
    tag = tag
  )

  def cycles(name: String, mps: Int = 512)(body: (Completer, CompleterBench) => Unit): Unit =
    test(s"$name, seed ${Seed.value}") {
      compiled.doSim(name.filter(_.isLetterOrDigit), Seed.value) { dut =>
        val bench = new CompleterBench(dut, new Random(Seed.value), mps)
        body(dut, bench)
      }
    }

  /** Lets the host send these requests in order. A non-posted request waits for a credit. */
  def send(bench: CompleterBench, requests: Seq[HostRequest]): mutable.Queue[HostRequest] = {
    val queue = mutable.Queue.from(requests)
    bench.next = nonPosted =>
      if (queue.nonEmpty && (queue.front.posted || nonPosted)) Some(queue.dequeue()) else None
    queue
  }

  def contiguous(cycles: Seq[Long], what: String): Unit =
    for ((a, b) <- cycles.zip(cycles.drop(1))) assert(b == a + 1, s"$what: a gap at cycle $a")

  cycles("writes of n B take (n + 16) / 32 CQ cycles, rounded up, without a gap") { (dut, bench) =>
    bench.start()
    for ((bytes, beats) <- Seq(4 -> 1, 16 -> 1, 48 -> 2, 64 -> 3, 128 -> 5, 256 -> 9, 512 -> 17)) {
      val count = 100
      val goal  = bench.ports(0).writes + count
      bench.cqAt.clear()
      val queue =
        send(
          bench,
          Seq.fill(count)(write(bench.random.nextInt(256) * 512, bytes / 4, bench.random))
        )
      bench.runUntil(queue.isEmpty && bench.ports(0).writes == goal, count * 20 + 100)
      contiguous(bench.cqAt.toSeq, s"CQ with $bytes B")
      assert(bench.cqAt.size == count * beats)
    }
    assert(bench.cqStalls == 0)
  }

  cycles("writes of all sizes in turn go without a gap") { (_, bench) =>
    val count = 400
    val queue =
      send(bench, Seq.fill(count)(write(0x1000, 1 + bench.random.nextInt(128), bench.random)))
    bench.start()
    bench.runUntil(queue.isEmpty && bench.ports(0).writes == count, count * 20)
    contiguous(bench.cqAt.toSeq, "CQ")
  }

  cycles("completions of n B take (n + 12) / 32 CC cycles, rounded up, without a gap") {
    (dut, bench) =>
      bench.start()
      var done, all = 0
      bench.onCompletion = _ => { done += 1; all += 1 }
      for (
        (bytes, beats) <- Seq(4 -> 1, 20 -> 1, 24 -> 2, 64 -> 3, 128 -> 5, 256 -> 9, 512 -> 17)
      ) {
        // The host's reads go to both ports in turn. The bench takes no beat on CC until enough
        // completions wait to keep CC busy without a gap.
        val count = 32
        done = 0
        bench.ccAt.clear()
        bench.ccHeld = true
        val queue =
          send(bench, Seq.tabulate(count)(i => read(i * 512, bytes / 4, i, bar = i % 2 * 2)))
        bench.runUntil(queue.isEmpty, 200)
        bench.run(50)
        bench.ccHeld = false
        bench.runUntil(done == count, 1000)
        contiguous(bench.ccAt.toSeq, s"CC with $bytes B")
        assert(bench.ccAt.size == count * beats)
      }
      bench.run(3)
      assert(all == 7 * 32)
  }

  cycles("idle: a request is offered one cycle after CQ, a completion on CC one after it, the " +
    "credit returns one after that") { (_, bench) =>
    bench.start()
    bench.run(50)
    for (i <- 0 until 20) {
      val port           = bench.ports(i % 2)
      val (seen, answer) = (port.validAt.size, port.answeredAt.size)
      val grants         = bench.grantedAt.size
      val beats          = bench.ccAt.size
      var done           = false
      bench.onCompletion = _ => done = true
      send(bench, Seq(read(0x100, 8 * (1 + i % 4), i, bar = if (i % 2 == 0) 0 else 2)))
      bench.runUntil(done, 100)
      bench.run(5 + bench.random.nextInt(3))
      assert(port.validAt(seen) == bench.cqAt.last + 1, "cycles from CQ to the request")
      assert(bench.ccAt(beats) == port.answeredAt(answer) + 1, "cycles from the completion to CC")
      assert(bench.grantedAt.size == grants + 1 && bench.grantedAt.last == bench.ccAt.last + 1)
    }
  }

  cycles("a single-dword write is offered one cycle after CQ") { (_, bench) =>
    bench.start()
    bench.run(50)
    for (dwords <- Seq(1, 2, 4)) {
      send(bench, Seq(write(0x40, dwords, bench.random)))
      bench.run(8)
      assert(bench.ports(0).validAt.last == bench.cqAt.last + 1)
    }
  }

  cycles("with CC refused for thousands of cycles writes go on at full rate") { (dut, bench) =>
    val reads  = Seq.tabulate(40)(i => read(i * 64, 16, i))
    val queue  = mutable.Queue.from(reads)
    var writes = 0
    var done   = 0
    bench.next = nonPosted =>
      if (nonPosted && queue.nonEmpty && bench.random.nextInt(3) == 0) Some(queue.dequeue())
      else { writes += 1; Some(write(0x8000, 16, bench.random)) }
    bench.onCompletion = _ => done += 1
    bench.ccHeld = true
    bench.start()
    bench.run(6000)
    contiguous(bench.cqAt.toSeq, "CQ")
    assert(queue.size == 8 && bench.inside == 32, "not all 32 credits are used by reads")
    assert(bench.ports(0).writes >= writes - 3)
    bench.ccHeld = false
    bench.runUntil(done == 40, 2000)
    assert(bench.cqStalls == 0)
    assert(bench.ccStalls > 5000)
  }

  cycles("with N credits never more than N reads inside, and none is lost, for every N") {
    (dut, bench) =>
      var tag = 0
      bench.next = nonPosted =>
        if (nonPosted) { tag += 1; Some(read(0x40, 4, tag % 256)) }
        else None
      bench.answerDelay = 40
      bench.start(npMax = 1)
      for (n <- (1 to 32) ++ Seq.fill(40)(1 + bench.random.nextInt(32))) {
        val before = bench.granted
        dut.io.npMax #= n
        // If the limit was raised, the Completer grants credits at once. If it was lowered, the
        // credits above the new limit must first be used and returned.
        bench.runUntil(bench.credits + bench.inside <= n, 2000)
        bench.run(40)
        bench.insideMost = 0
        for (_ <- 0 until 150) {
          bench.run(1)
          assert(bench.credits + bench.inside <= n, s"more than $n credits lent")
          assert(bench.granted - bench.consumed == bench.credits)
        }
        assert(bench.insideMost <= n)
        assert(n < 8 || bench.insideMost > n / 2, s"only ${bench.insideMost} of $n in use")
        assert(bench.granted > before)
      }
      bench.next = _ => None
      bench.runUntil(bench.inside == 0, 1000)
      for (n <- Seq(32, 7, 0, 40)) {
        dut.io.npMax #= n
        bench.run(5)
        if (n >= 32) { bench.run(40); assert(bench.credits == 32, s"npMax $n") }
      }
  }

  cycles("credits at rest are npMax after every change that returns can follow") { (dut, bench) =>
    bench.start(npMax = 32)
    bench.run(50)
    assert(bench.credits == 32)
    contiguous(bench.grantedAt.toSeq, "grants after reset")
    var tag = 0
    for (n <- Seq(16, 5, 1, 2, 32, 31, 3)) {
      dut.io.npMax #= n
      var left = 200
      bench.next =
        nonPosted =>
          if (nonPosted && left > 0) { left -= 1; tag += 1; Some(read(0, 1, tag % 256)) }
          else None
      bench.runUntil(left == 0 && bench.inside == 0, 5000)
      bench.run(40)
      assert(bench.credits == n, s"at rest not npMax $n credits are lent")
    }
  }

  cycles(
    "each kind that no port serves is answered once or dropped, as the table says"
  ) {
    (dut, bench) =>
      val answers = mutable.Map[Int, Int]().withDefaultValue(0)
      bench.onCompletion = c => { answers(c.tag) += 1; assert(c.status == 1) }
      val kinds = (2 to 15).toList
      val queue = send(
        bench,
        kinds.map { kind =>
          val data = if (Set(3, 4, 5, 6)(kind)) 2 else 0
          HostRequest(
            kind,
            0x40,
            if (data == 0) 1 else data,
            15,
            if (data == 2) 15 else 0,
            0,
            20,
            tag = kind,
            payload = HostRequest.words(bench.random, data)
          )
        }
      )
      bench.start()
      bench.runUntil(queue.isEmpty, 500)
      bench.run(50)
      for (kind <- kinds) assert(answers(kind) == (if (kind < 12) 1 else 0), s"kind $kind")
      assert(dut.io.counters.unsupported.toLong == 10 && dut.io.counters.dropped.toLong == 4)
      assert(bench.credits == 32)
  }

  cycles("a discontinued write writes nothing, whatever requests are around it") { (dut, bench) =>
    val requests = for (i <- 0 until 300) yield {
      val cut = bench.random.nextInt(3) == 0
      write(i * 512, 1 + bench.random.nextInt(if (i % 2 == 0) 4 else 128), bench.random)
        .copy(discontinue = cut)
    }
    bench.requestStall = 0.3
    val queue = send(bench, requests)
    bench.start()
    bench.runUntil(queue.isEmpty && bench.ports(0).writes == requests.count(!_.discontinue), 20000)
    bench.run(50)
    for (r <- requests; d <- 0 until r.dwords; i <- 0 to 3) {
      val wanted = if (r.discontinue) 0 else (r.payload(d) >> (8 * i) & 0xff).toInt
      assert(bench.ports(0).byte(0, r.offset + d * 4 + i) == wanted)
    }
    assert(dut.io.counters.discontinued.toLong == requests.count(_.discontinue))
    assert(dut.io.counters.dropped.toLong == 0)
  }

  cycles(
    "after stop no request begins, those begun are finished, then idle; without stop all goes on"
  ) {
    (dut, bench) =>
      var tag, done = 0
      bench.next = nonPosted =>
        if (nonPosted && tag < 400) { tag += 1; Some(read(tag * 64, 16, tag % 256)) }
        else if (tag < 400) Some(write(0x8000, 128, bench.random))
        else None
      bench.ccStall = 0.3
      bench.onCompletion = _ => done += 1
      bench.start()
      for (_ <- 0 until 20) {
        bench.run(50 + bench.random.nextInt(50))
        assert(!dut.io.idle.toBoolean)
        dut.io.stop #= true
        bench.runUntil(dut.io.idle.toBoolean, 200)
        val (cq, cc, ended) = (bench.cqAt.size, bench.ccAt.size, done)
        bench.run(50)
        assert(bench.cqAt.size == cq && bench.ccAt.size == cc && done == ended)
        assert(!bench.midCompletion && !bench.midRequest)
        assert(dut.io.idle.toBoolean && !dut.io.cc.valid.toBoolean)
        dut.io.stop #= false
        bench.run(3)
      }
      bench.runUntil(done == 400 && bench.inside == 0, 20000)
  }

  cycles("after a reset inside a request its rest is skipped, and the next request is served") {
    (dut, bench) =>
      val rest = write(0, 128, bench.random)
      bench.start()
      bench.run(50)
      bench.saturates = true
      send(bench, Seq(rest))
      bench.run(6)
      dut.clockDomain.assertReset()
      sleep(30)
      dut.clockDomain.deassertReset()
      bench.run(60)
      assert(!bench.midRequest && bench.ports(0).writes == 0)
      // The model of the hard block still had all 32 non-posted credits from before the reset, so
      // the credits that the Completer granted after its reset had no effect.
      assert(bench.credits == 32)
      var done = false
      bench.onCompletion = _ => done = true
      send(bench, Seq(write(0x40, 16, bench.random), read(0x40, 16, 1)))
      bench.runUntil(done, 100)
      assert(bench.ports(0).writes == 1)
  }
}
