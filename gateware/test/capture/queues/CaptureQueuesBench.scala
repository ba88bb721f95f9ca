// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.queues

import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.capture._
import lanebox.capture.accounts.AccountTable

/** Test bench of a CaptureQueues: a source of frames, and for each queue a ring in host memory with
  * a program of its own, which raises that queue's limit.
  *
  * `check` compares each queue's recording with the frames that rules and spread must have sent
  * there, byte for byte, and all accounts with the bench's own counts.
  */
class CaptureQueuesBench(dut: CaptureQueues, val random: Random, setup: CaptureSetup) {
  val queues      = dut.p.queues
  var rules       = Seq[RuleModel]()
  var spread      = IndexedSeq.fill(Spread.Entries)(0)
  var byPort      = false
  var sorts       = true
  val rings       = rangesApart()
  val hosts       = rings.map(ring => new RingHost(dut.io.request, random, ring, owns(ring)))
  val source      = mutable.Queue[TestFrame]()
  val driver      = new FrameDriver(dut.io.frames, random)(next())
  val seen        = Seq.fill(queues)(mutable.ArrayBuffer[TestFrame]())
  val discarded   = mutable.ArrayBuffer[(Int, TestFrame)]()
  var calls       = 0
  var run         = false
  private var ran = false
  // The queues whose host does not raise the limit any more.
  val stopped = mutable.Set[Int]()
  // What software does to single queues, each with its queue. One of these acts has each cycle.
  private val acts = mutable.Queue[(Int, () => Unit)]()
  private var time = 0L

  driver.pauses = setup.framePauses
  hosts.head.pauses = setup.hostPauses
  driver.begun = frame => if (ran) sort(frame)

  /** Makes rings that lie apart from each other. */
  private def rangesApart(): Seq[RingHost.Ring] = (0 until queues).map { queue =>
    val ring = RingHost.ring(random, setup.segments, setup.segmentLog2)
    val high = BigInt(queue) << 60
    ring.copy(segments = ring.segments.map(_ | high), status = ring.status | high)
  }
  private def owns(ring: RingHost.Ring)(address: BigInt) = (address >> 60) == (ring.status >> 60)

  private def next(): Option[TestFrame] = Option.when(source.nonEmpty)(source.dequeue())
  def nextTime(): Long = {
    time += 1 + random.nextInt(1000)
    time
  }

  /** Offers random frames of FlowFrames. `bad` percent of them have an error. */
  def offer(count: Int, bad: Int = 0): Unit = source ++= Seq.fill(count) {
    val frame = FlowFrames(random, nextTime())
    if (random.nextInt(100) < bad) frame.copy(flags = 1L << 24, error = true) else frame
  }

  /** Offers frames of `size` bytes, from port 0 on in turn. */
  def offerSize(count: Int, size: Int): Unit = source ++= Seq.tabulate(count) { i =>
    val data = Array.fill(size)(random.nextInt().toByte).toIndexedSeq
    TestFrame(nextTime(), i % queues, size, data)
  }

  /** Adds a frame that the card has taken to the frames of the queue that rules and spread choose.
    */
  private def sort(frame: TestFrame): Unit = {
    val flow   = FlowModel(frame.data, frame.port, frame.original)
    val number = if (sorts) rules.indexWhere(_.matches(flow)) else -1
    val rule   = if (number < 0) RuleModel(on = false) else rules(number)
    val entry  = if (byPort) frame.port else (flow.hash(Toeplitz.Symmetric) % Spread.Entries).toInt
    val queue  = if (sorts) rule.queue.getOrElse(spread(entry)) % queues else 0
    val kept   = if (rule.snap == 0) frame.data else frame.data.take(rule.snap)
    if (number >= 0 && rule.discard) discarded += number -> frame
    else seen(queue) += frame.copy(data = kept)
  }

  def cycle(): Unit = {
    dut.clockDomain.waitSampling()
    if (dut.io.call.toBoolean) calls += 1
    val port = dut.io.request
    if (port.valid.toBoolean)
      assert(rings.exists(owns(_)(port.address.toBigInt)), "a request to no ring")
    hosts.foreach(_.sample())
    hosts.head.drive()
    driver.cycle()
    dut.io.settings.run #= run
    ran = run
    dut.io.now #= hosts.head.cycles * 4
    for (input <- Seq(dut.io.limit.valid, dut.io.wake.valid, dut.io.seal, dut.sort.quota.valid))
      input #= false
    if (!setup.newest && random.nextDouble() < setup.limits) {
      val queue = random.nextInt(queues)
      if (!stopped(queue)) raise(queue)
    }
    if (random.nextDouble() < setup.seals) seal(random.nextInt(queues))
    if (acts.nonEmpty) {
      val (queue, act) = acts.dequeue()
      dut.sort.select #= queue
      act()
    }
  }
  def cycles(count: Int): Unit                 = for (_ <- 0 until count) cycle()
  private def select(queue: Int)(act: => Unit) = acts.enqueue(queue -> (() => act))
  def wake(queue: Int, position: Long): Unit = select(queue) {
    dut.io.wake.valid #= true
    dut.io.wake.payload #= position
  }

  /** Asks for a seal of the queue's MBUF. */
  def seal(queue: Int): Unit = select(queue)(dut.io.seal #= true)

  /** Raises the limit of `queue`: its host has read its ring up to the card's position. */
  def raise(queue: Int): Unit = select(queue) {
    val host = hosts(queue)
    host.limit = host.position + host.size
    dut.io.limit.valid #= true
    dut.io.limit.payload #= host.limit
  }

  /** Lets `queue` have `cells` cells of the staging memory in use at once. */
  def quota(queue: Int, cells: Int): Unit = select(queue) {
    dut.sort.quota.valid #= true
    dut.sort.quota.payload #= cells
  }

  /** Writes the limit 0, which is below the present one, so the card must ignore it. */
  def stale(queue: Int): Unit = select(queue) {
    dut.io.limit.valid #= true
    dut.io.limit.payload #= 0
  }

  /** Sets all inputs to their values at rest, starts the clock, and resets the block. */
  def reset(first: Boolean = true): Unit = {
    val sort = dut.sort
    for (
      input <- Seq(
        dut.io.frames.valid,
        dut.io.limit.valid,
        dut.io.segment.valid,
        dut.io.wake.valid,
        dut.io.request.ready,
        dut.io.clear,
        dut.io.seal,
        dut.io.snapshot,
        dut.io.settings.run,
        sort.statusWritten,
        sort.lastWritten,
        sort.quota.valid,
        sort.rule.valid,
        sort.spread.valid
      )
    ) input #= false
    val to = dut.io.settings
    to.keepBad #= setup.keepBad
    to.lossless #= setup.lossless
    to.newest #= setup.newest
    to.relaxed #= setup.relaxed
    to.snap #= setup.snap
    to.patience #= setup.waits
    to.mbufLog2 #= setup.mbufLog2
    to.segmentLog2 #= setup.segmentLog2
    dut.io.now #= 0
    dut.io.index #= 0
    sort.index #= 0
    sort.select #= 0
    if (first) dut.clockDomain.forkStimulus(10)
    dut.clockDomain.waitSampling(10)
  }

  /** Gives a queue its ring, and leaves it selected. */
  private def place(ring: RingHost.Ring, queue: Int): Unit = {
    dut.sort.select #= queue
    dut.io.settings.statusAddress #= ring.status
    dut.io.settings.lastSegment #= ring.segments.size - 1
    dut.sort.statusWritten #= true
    dut.sort.lastWritten #= true
    for ((base, index) <- ring.segments.zipWithIndex) {
      dut.io.segment.valid #= true
      dut.io.segment.index #= index
      dut.io.segment.page #= base / 4096
      dut.clockDomain.waitSampling()
      dut.sort.statusWritten #= false
      dut.sort.lastWritten #= false
    }
    dut.io.segment.valid #= false
  }

  /** Writes the rules and the spread table to the card. */
  private def program(): Unit = {
    for ((rule, i) <- rules.zipWithIndex; (word, at) <- rule.words.zipWithIndex) {
      dut.sort.rule.valid #= true
      dut.sort.rule.rule #= i
      dut.sort.rule.word #= at
      dut.sort.rule.data #= word
      dut.clockDomain.waitSampling()
    }
    dut.sort.rule.valid #= false
    for ((queue, entry) <- spread.zipWithIndex) {
      dut.sort.spread.valid #= true
      dut.sort.spread.entry #= entry
      dut.sort.spread.queue #= queue
      dut.clockDomain.waitSampling()
    }
    dut.sort.spread.valid #= false
    dut.sort.count #= rules.size
    dut.sort.byPort #= byPort
    dut.sort.sorts #= sorts
  }

  /** Gives the queues below `placed` their rings, clears the block, and starts a recording. */
  def begin(placed: Int = queues): Unit = {
    for ((ring, queue) <- rings.zipWithIndex.take(placed)) place(ring, queue)
    program()
    dut.io.clear #= true
    dut.clockDomain.waitSampling()
    dut.io.clear #= false
    dut.clockDomain.waitSamplingWhere(2000)(!dut.io.accountsBusy.toBoolean)
    if (!setup.newest) {
      for (queue <- 0 until placed) raise(queue)
      cycles(placed + 10)
    }
    run = true
    cycle()
  }

  /** Runs until the block has taken all offered frames. Fails after `most` cycles. */
  def drain(most: Int): Unit = {
    var left = most
    while ((source.nonEmpty || !driver.idle) && left > 0) {
      cycle()
      left -= 1
    }
    assert(source.isEmpty && driver.idle, s"${source.size} frames were not taken")
  }

  def stop(most: Int = 40000): Unit = {
    run = false
    var left = most
    cycles(10)
    while (!dut.io.idle.toBoolean && left > 0) {
      cycle()
      left -= 1
    }
    assert(dut.io.idle.toBoolean, "not idle")
    val beats = hosts.map(_.beats)
    cycles(300)
    assert(hosts.map(_.beats) == beats, "something was written after idle")
  }

  private type Entry = (Long, Long)

  /** Copies all accounts. Returns those of the queues, and those of the discarded frames. */
  def accounts(): (Seq[Map[Int, PortAccount]], Seq[Entry]) = {
    dut.io.snapshot #= true
    cycle()
    dut.io.snapshot #= false
    cycle()
    while (dut.io.accountsBusy.toBoolean) cycle()
    // Nothing is written while `select` names the queue that is read.
    acts.clear()
    for (input <- Seq(dut.io.limit.valid, dut.io.wake.valid, dut.io.seal)) input #= false
    def read(account: AccountTable.Account): Entry = {
      dut.clockDomain.waitSampling(3)
      (account.frames.toBigInt.toLong, account.bytes.toBigInt.toLong)
    }
    def fate(port: Int, number: Int): Entry = {
      dut.io.index #= 4 * port + number
      read(dut.io.account)
    }
    val own = (0 until queues).map { queue =>
      dut.sort.select #= queue
      (0 until 16).map { port =>
        port -> PortAccount(fate(port, 0), fate(port, 1), fate(port, 2), fate(port, 3))
      }.toMap
    }
    val dropped = (0 until 32).map { index =>
      dut.sort.index #= index
      read(dut.sort.discarded)
    }
    (own, dropped)
  }

  /** Compares every recording, position and account with the frames that were sent. Returns for
    * each queue the frames whose records are in its ring.
    */
  def check(): Seq[Seq[Delivered]] = {
    val (own, dropped) = accounts()
    for ((host, queue) <- hosts.zipWithIndex) {
      dut.sort.select #= queue
      dut.clockDomain.waitSampling(3)
      assert(dut.io.position.toBigInt == host.position, s"the register position of queue $queue")
    }
    def sum(frames: Iterable[TestFrame]): Entry =
      (frames.size.toLong, frames.map(_.original.toLong).sum)
    for (number <- 0 until 16) {
      val byRule = discarded.filter(_._1 == number).map(_._2)
      val byPort = discarded.map(_._2).filter(_.port == number)
      assert(dropped(number) == sum(byRule), s"discarded by rule $number")
      assert(dropped(16 + number) == sum(byPort), s"discarded of port $number")
    }
    for (queue <- 0 until queues)
      yield RecordingCheck(setup, hosts(queue), seen(queue).toSeq, own(queue), queue)
  }
}
