// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rq

import org.scalatest.funsuite.AnyFunSuite
import scala.language.reflectiveCalls
import spinal.core.sim._

import lanebox.vocabulary.{LaneboxSim, Seed}

/** Tests that a fence lets a message (an interrupt, for example) pass as soon as all requests that
  * were handed over before the message are done, and not earlier. The fence does not wait for reads
  * of clients that are not fenced.
  */
class FenceTest extends AnyFunSuite {
  val messenger = 4
  val param = RequestParam(
    Seq(
      ClientConfig("dma", reads = true, writes = true),
      ClientConfig("c2h", reads = false, writes = true),
      ClientConfig("h2c", reads = true, writes = false),
      ClientConfig("virtio", reads = true, writes = true, fenced = false),
      ClientConfig("msix", reads = false, writes = true)
    )
  )
  lazy val compiled = LaneboxSim(FencedRequests(param))

  /** A message must pass at most this many cycles after all requests before it are done. Registers
    * on the way take these cycles.
    */
  val promptly = 8

  def reached(now: Seq[Int], before: Seq[Int]): Boolean =
    now.zip(before).forall { case (a, b) => a >= b }
  def fenced(reads: Seq[Int]): Seq[Int] = reads.zip(param.clients).filter(_._2.fenced).map(_._1)

  /** Sends messages through fence number `fence` and checks when each one passes.
    *
    * A message must pass when all reads of fenced clients before it are done and all writes before
    * it are `gone`. With `beside` the message does not go through RQ. So it must not pass earlier,
    * and it also waits for write TLPs that already had a sequence number when it came; these may
    * belong to later requests. `passes` gets the number of earlier writes of each client.
    */
  class Watch(dut: FencedRequests, bench: RequestBench, fence: Int, beside: Boolean)(
      gone: => Seq[Int]
  )(passes: Seq[Int] => Unit) {
    private var before = Option.empty[(Seq[Int], Seq[Int])]
    private var age    = 0
    private var clear  = 0
    // Number of write TLPs that already had a sequence number when the message came to the fence.
    private var ahead   = 0
    private var payload = 0
    private val message = dut.io.messages(fence)
    private val passed  = dut.io.passed(fence)
    var count           = 0
    var overtakes       = 0 // Messages that have passed before earlier reads were done.

    dut.clockDomain.onSamplings {
      for ((writes, reads) <- before) {
        val written = reached(gone, writes)
        val read    = reached(fenced(bench.deliveredReads.toSeq), fenced(reads))
        age += 1
        if (age <= 2) ahead = bench.numberedTlps
        val over = written && read && (!beside || bench.confirmedTlps >= ahead)
        if (passed.valid.toBoolean) {
          assert(read && (written || !beside), s"message $count overtook $writes or $reads")
          assert(passed.payload.toInt == payload)
        } else if (over) clear += 1
        assert(clear <= promptly, s"message $count waits although all before it is done")
        if (passed.valid.toBoolean && passed.ready.toBoolean) {
          before = None
          count += 1
          if (!reached(bench.deliveredReads.toSeq, reads)) overtakes += 1
          passes(writes)
        }
      }
      if (message.valid.toBoolean && message.ready.toBoolean) {
        assert(before.isEmpty, "two messages at a time")
        before = Some((bench.enteredWrites.toSeq, bench.enteredReads.toSeq))
        age = 0
        clear = 0
        payload = message.payload.toInt
        message.valid #= false
      } else if (!message.valid.toBoolean && bench.random.nextInt(30) == 0) {
        message.valid #= true
        message.payload #= bench.random.nextInt(256)
      }
      passed.ready #= bench.random.nextInt(4) == 0
    }
  }

  def run(name: String, seed: Int): Unit = compiled.doSim(name, seed) { dut =>
    dut.clockDomain.forkStimulus(10)
    val bench = new RequestBench(dut, 256, 512)
    import bench.random

    // This fence is for messages that do not go through RQ: a write is done when its sequence
    // number has come back.
    val sent = new Watch(dut, bench, 1, beside = true)(bench.confirmedWrites.toSeq)(_ => ())

    // This fence is for messages that are themselves a write of the last client. When such a
    // message is on RQ, all earlier writes must already have been there.
    var order = Vector.empty[Seq[Int]]
    val ordered = new Watch(dut, bench, 0, beside = false)(bench.sentWrites.toSeq)({ writes =>
      order :+= writes
      bench.ask(RequestModel.random(random, write = true, bench.page(messenger), 1))
    })
    var messages = 0
    dut.clockDomain.onSamplings {
      while (messages < bench.sentWrites(messenger)) {
        assert(reached(bench.sentWrites.toSeq, order(messages)), s"message $messages came early")
        messages += 1
      }
      // The clients' traffic never stops: each client always has requests waiting.
      for (client <- 0 until messenger if bench.waiting(client) < 3) bench.askAny(client)
    }
    for (_ <- 0 until 12) {
      bench.mood = RequestMood(
        rqReady = 30 + random.nextInt(71),
        claimReady = 30 + random.nextInt(71),
        returns = Seq(3, 10, 50, 100)(random.nextInt(4)),
        gaps = random.nextInt(50),
        answerDelay = 1 + random.nextInt(400),
        tags = 4 + random.nextInt(60)
      )
      dut.clockDomain.waitSampling(2500)
    }
    info(s"${sent.count} messages beside RQ, ${ordered.count} on it, ${bench.tlps.size} TLPs")
    assert(sent.count > 20 && ordered.count > 20 && messages > 20)
    assert(sent.overtakes + ordered.overtakes > 0, "no message has passed an unfenced read")
  }

  test(s"a message passes only unfenced reads; no later request delays it, seed ${Seed.value}") {
    run("fences", Seed.value)
  }
}
