// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.chains

import scala.collection.mutable
import scala.util.Random

import lanebox.capture.TestFrame
import lanebox.virtio.vocabulary.VirtioParam
import lanebox.virtio.{NetBench, PairsDriver, VirtioRegisters}

/** Random frames of a net device with two pairs of queues, in both directions. `pairs` pairs are
  * active. With `floods` frames come into the card however full its store is.
  */
class FrameTraffic(
    driver: PairsDriver,
    far: NetBench#FarSide,
    random: Random,
    ledger: FrameLedger,
    merges: Boolean,
    pairs: Int,
    floods: Boolean
) {
  import FrameTraffic._
  private val frames = new RandomFrames(random)
  private val queues = mutable.Seq.tabulate(4)(n => Option(served(n)))
  private val down = mutable.Set[Int]() // Queues that are being reset, or were and are not set up.
  private val sent = mutable.Set[Int]() // Flows of which a frame was sent.
  private val learned   = mutable.Set[Int]() // Flows of which a frame has left.
  private val slow      = 1 + random.nextInt(24)
  private var before    = (0, 0)
  private var quiet     = 0                  // Cycles in which nothing went on.
  private var held      = 0                  // Turns in which the store had no room for a frame.
  private var lost      = driver.read(VirtioRegisters.Dropped)
  private var resetting = false              // A queue is being reset.
  private var ended     = false              // The device is being reset.
  private var closed    = false              // The device was reset.
  private val watches   = random.nextBoolean()
  driver.host.watch = () => if (watches) up.filter(_.polls).foreach(_.collect())

  /** The queues that the driver uses. */
  private def up: Seq[ServedQueue] =
    queues.indices.filterNot(down).flatMap(queues(_))
  private def senders: Seq[SendQueue] = up.collect { case queue: SendQueue => queue }
  private def takers: Seq[TakeQueue]  = up.collect { case queue: TakeQueue => queue }
  private def one[T](all: Seq[T]): Option[T] =
    if (all.isEmpty) None else Some(all(random.nextInt(all.size)))

  private def served(n: Int): ServedQueue =
    if (n % 2 == 1) new SendQueue(driver, random, n / 2, ledger)
    else new TakeQueue(driver, random, n / 2, merges, ledger)

  /** Is called in each cycle: takes what leaves the card, and interrupts. */
  def cycle(): Unit = {
    while (far.taken.nonEmpty) learned += ledger.left(far.taken.dequeue()).flow
    for ((queue, n) <- queues.zipWithIndex) {
      val came = driver.interrupts(n)
      if (came > 0) {
        assert(!closed && queue.isDefined, s"an interrupt of queue $n, which was reset")
        queue.get.interrupted(came)
      }
    }
    val now   = (driver.host.reads, driver.host.writes)
    val rests = now == before && driver.host.rests && far.idle && !driver.busy
    quiet = if (rests) quiet + 1 else 0
    before = now
    if (quiet == Settled && !ended) rest()
  }

  /** All is at rest, so no notification and no interrupt may be missing. */
  private def rest(): Unit = {
    for (queue <- senders)
      assert(queue.rooms.isEmpty, s"the device rests beside ${queue.rooms.size} chains to send")
    up.foreach(_.rest())
  }

  /** The driver and the far side do something, and time passes. */
  def turn(): Unit = {
    for (_ <- 0 to random.nextInt(3)) random.nextInt(8) match {
      case 0 | 1 => send()
      case 2 | 3 => receive()
      case 4     => one(takers.filter(_.queue.room > 0)).foreach(_.add())
      case 5 | 6 => publish(random.nextInt(queues.size))
      case _     => one(up).foreach(_.change())
    }
    driver.step(1 + random.nextInt(slow))
    if (held > MostHeld) settle()
  }

  private def publish(n: Int): Unit =
    for (queue <- queues(n) if !down(n) && queue.hidden > 0) {
      queue.hidden = 0
      quiet = 0
      driver.publish(n)
    }

  private def send(): Unit =
    for (queue <- one(senders.filter(_.queue.room > 0))) random.nextInt(16) match {
      case 0 => queue.add(IndexedSeq(), RandomFrames.NoFlow)
      case n =>
        val flow = if (n == 1) RandomFrames.NoFlow else frames.flowOf(queue.pair)
        sent += flow
        queue.add(frames.of(flow, back = false), flow)
    }

  /** Lets a frame go into the card, unless its store may be full. */
  private def receive(): Unit = if (far.input.size < 2) {
    val flow = if (random.nextInt(16) == 0) RandomFrames.NoFlow else random.nextInt(frames.Flows)
    val data = frames.of(flow, back = true)
    val rows = (data.size +: ledger.waiting).map(rowsOf).sum
    if (!floods && rows > MostRows) held += 1
    else {
      val bad = random.nextInt(40) == 0
      held = 0
      ledger.input(data, expected(flow), bad)
      far.input += TestFrame(0, 0, data.size, data, error = bad)
    }
  }

  /** Returns the pairs to which a frame of a flow may come that goes into the card now. */
  private def expected(flow: Int): Set[Int] =
    if (pairs == 1 || !frames.comesToSecond(flow)) Set(0)
    else if (!far.idle || down(2) || sent(flow) != learned(flow)) Set(0, 1)
    else Set(if (sent(flow)) 1 else 0)

  /** Resets a queue alone while the others go on, and sets it up anew in another size. */
  def resetQueue(n: Int): Unit = {
    down += n
    resetting = true
    if (n == 2) ledger.loosen()
    driver.askForReset(n)
    var left = MostTurns
    while (driver.isReset(n)) {
      turn()
      left -= 1
      assert(left > 0, s"the reset of queue $n does not end")
    }
    queues(n).foreach(_.cut())
    driver.bury(n)
    queues(n) = None
    resetting = false
    for (_ <- 0 until random.nextInt(20)) turn()
    // While the second receive queue is away, all frames come to the first one.
    if (random.nextBoolean()) settle()
    driver.setUpAnew(n, 2 << random.nextInt(4))
    queues(n) = Some(served(n))
    down -= n
  }

  /** Lets all that is on its way arrive, if no queue is being reset and the first receive queue is
    * there. The receive queues then have room for a frame.
    */
  def settle(): Unit = {
    var left = MostTurns
    if (!down(0) && !resetting) {
      while (quiet <= Settled || !takers.forall(_.hasRoom)) {
        for (queue <- takers if queue.queue.room > 0 && !queue.hasRoom) queue.add()
        queues.indices.foreach(publish)
        up.filter(_.polls).foreach(_.collect())
        driver.step(20)
        left -= 1
        assert(left > 0, s"the device does not come to rest: $this")
      }
      val now = driver.read(VirtioRegisters.Dropped)
      ledger.settle(now - lost & 0xffffffffL, floods)
      lost = now
    }
    held = 0
  }

  /** Resets the device. All used chains and all sent frames must be right. */
  def end(): Unit = {
    ended = true
    driver.reset()
    closed = true
    driver.until("the end of the frames")(far.idle && !driver.busy)
    driver.step(50)
    queues.flatten.foreach(_.collect())
    ledger.forget()
    driver.host.watch = () => ()
    driver.host.silent = false
    driver.memory.forget()
  }

  override def toString: String =
    s"chains with room for ${up.map(_.rooms.sum)}, busy ${driver.busy}, ${far.input.size} to come"

  /** Returns the number of frames and empty chains that were made. */
  def made: Int = frames.made
}

object FrameTraffic {
  val Settled   = 300 // Cycles after which no request and no interrupt is on its way.
  val MostTurns = 4000
  val MostHeld  = 200

  /** The rows that a received frame takes in the store. */
  def rowsOf(bytes: Int): Int = (bytes + VirtioParam.NetHeader + 31) / 32

  /** The rows that frames may take so that each of them has room: two frames that have left the store
    * may still be there, and NetReceive keeps some rows.
    */
  val MostRows = VirtioParam.net.rows - 2 * rowsOf(NetBench.Largest) - 8
}
