// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rc

import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.UInt
import spinal.core.sim._

import lanebox.vocabulary.LaneboxSim

/** Parameters of a simulation of the return path. `mrrs`, the largest size of a read, is in bytes.
  */
case class ReturnRun(
    seed: Int,
    timing: HostTiming = HostTiming(),
    straddle: Boolean = true,
    extendedTags: Boolean = true,
    mrrs: Int = 512,
    tags: Int = 64,
    pooled: Boolean = false,
    timeoutCycles: Long = 2500000
)

/** Test bench of the return path (RC) between a model of the host and reading clients, run cycle
  * by cycle.
  */
class ReturnBench(val dut: ReturnPath, run: ReturnRun) {
  val random                 = new Random(run.seed)
  var pins: RcPins           = _
  var host: ReturnHost       = _
  var clients: ReturnClients = _
  // Completions of the host that the card has looked up in its table of reads.
  var completions = 0L

  begin()
  dut.io.rcb128 #= run.timing.rcb == 128
  dut.io.extendedTags #= run.extendedTags
  dut.io.timeoutCycles #= run.timeoutCycles
  dut.io.clear #= false
  dut.clockDomain.forkStimulus(10)

  /** Makes new models, in which no read is outstanding, and sets the inputs of the return path to
    * their values at rest.
    */
  private def begin(): Unit = {
    pins = new RcPins(dut.io.rc, run.straddle)
    host = new ReturnHost(run.timing, random, pins, run.pooled)
    clients = new ReturnClients(dut, host, random, run.mrrs)
    completions = 0
    dut.io.rc.valid #= false
    dut.io.claim.valid #= false
    dut.io.returns.foreach(_.ready #= false)
  }

  def reset(): Unit = {
    dut.clockDomain.assertReset()
    begin()
    dut.clockDomain.waitRisingEdge(3)
    dut.clockDomain.deassertReset()
  }

  def now: Long = host.now

  def cycle(): Unit = {
    dut.clockDomain.waitSampling()
    val seen = dut.reads.io.verdict
    if (seen.valid.toBoolean && !seen.probe.toBoolean) completions += 1
    clients.cycle()
    host.cycle()
  }

  /** Runs the bench until `done` is true. Fails if nothing was sent or taken for `limit` cycles. */
  def until(what: String, limit: Long = 20000)(done: => Boolean): Unit = {
    var seen, since = 0L
    while (!done) {
      cycle()
      val progress = host.shown + clients.claimed + clients.beats.sum
      if (progress != seen) since = now
      seen = progress
      assert(now - since < limit, s"no progress for $limit cycles: $what; $state")
    }
  }

  private def state: String = {
    val counts = dut.io.statistics.elements.map { case (name, value) =>
      s"$name ${value.asInstanceOf[UInt].toLong}"
    }
    s"${clients.claimed} reads, ${clients.beats.sum} beats, tags ${dut.tags.free.toInt}, " +
      s"space ${dut.credits.headers.toInt} ${dut.credits.data.toInt}, " +
      s"outstanding ${host.reads.keys.mkString(" ")}, ${counts.mkString(", ")}"
  }

  def cycles(count: Long): Unit = for (_ <- 0L until count) cycle()

  /** Stops the clients' requests and lets the outstanding reads end. Then checks that all data was
    * delivered, and that all tags and all completion space were given back. `quarantine` is a
    * further wait in cycles, in which the tags of lost reads become free.
    */
  def finish(quarantine: Long = 0): Unit = {
    clients.request = _ => None
    for (client <- clients.takes.indices) clients.takes(client) = clients.takes(client) max 0.5
    until("the last requests", 20000 + 2 * run.timeoutCycles.min(100000)) {
      clients.idle && !host.pending && dut.io.idle.toBoolean
    }
    cycles(quarantine + 20)
    assert(dut.io.idle.toBoolean, "the return path has nothing to do and is not idle")
    conserved()
    assert(clients.delivered.sameElements(clients.requests), "a request was not reported delivered")
  }

  private def conserved(): Unit = {
    assert(dut.credits.headers.toInt == 0, s"${dut.credits.headers.toInt} headers are not back")
    assert(dut.credits.data.toInt == 0, s"${dut.credits.data.toInt} data credits are not back")
    assert(dut.tags.free.toInt == dut.p.tags, s"${dut.tags.free.toInt} tags are free")
    for ((end, reader) <- dut.claims.io.ends.zip(dut.delivery.readers)) {
      assert(end.dword.toInt == 8 * reader.row.toInt, "the ring has room that was not given back")
      assert(end.order.toInt == reader.order.toInt, "a read was not delivered")
    }
    assert(completions == host.shown, "completions")
    assert(dut.io.statistics.backPressure.toLong == pins.backPressure, "back-pressure cycles")
  }

  /** Makes a random request for memory of at most `most` dwords, with byte enables as for a range
    * of bytes.
    */
  def anyRequest(most: Int): Option[TestRequest] = {
    val dwords = 1 + random.nextInt(most)
    val first  = Seq(15, 15, 14, 12, 8)(random.nextInt(5))
    val last   = Seq(15, 15, 7, 3, 1)(random.nextInt(5))
    val single = Seq(15, 0, 1, 2, 4, 8, 6, 12, 3)(random.nextInt(9))
    Some(TestRequest(
      address = random.nextInt(ReturnHost.Dwords - dwords + 1) * 4,
      dwords = dwords,
      firstBe = if (dwords == 1) single else first,
      lastBe = if (dwords == 1) 0 else last,
      context = random.nextInt(1 << 16)
    ))
  }

  /** Makes a request of `bytes` bytes at a random address that is a multiple of `bytes`. */
  def aligned(bytes: Int): Option[TestRequest] = {
    val at = random.nextInt(ReturnHost.Dwords * 4 / bytes) * bytes
    Some(TestRequest(at, bytes / 4, 15, if (bytes == 4) 0 else 15, random.nextInt(1 << 16)))
  }
}

object ReturnBench {
  private val compiled = collection.mutable.Map[ReturnParam, SimCompiled[ReturnPath]]()

  def compile(param: ReturnParam): SimCompiled[ReturnPath] =
    compiled.getOrElseUpdate(
      param,
      LaneboxSim {
        val dut = ReturnPath(param)
        dut.credits.headers.simPublic()
        dut.credits.data.simPublic()
        dut.tags.free.simPublic()
        dut.reads.io.verdict.valid.simPublic()
        dut.reads.io.verdict.probe.simPublic()
        dut.claims.io.ends.foreach(end => { end.dword.simPublic(); end.order.simPublic() })
        dut.delivery.readers.foreach(reader => { reader.row.simPublic(); reader.order.simPublic() })
        dut
      }
    )

  def apply(name: String, run: ReturnRun, clients: Int = 2)(body: ReturnBench => Unit): Unit =
    compile(ReturnParam(clients, run.tags, completionPool = run.pooled)).doSim(name, run.seed) {
      dut => body(new ReturnBench(dut, run))
    }
}
