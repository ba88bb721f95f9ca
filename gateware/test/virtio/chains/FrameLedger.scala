// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.chains

import scala.collection.mutable

/** The frames of a net device that are on their way, in both directions. The ledger says of each
  * frame that arrives whether it may, and of those that do not arrive whether they may be lost.
  */
class FrameLedger {
  import FrameLedger._

  private val lines  = Seq.fill(2)(mutable.ArrayBuffer[Frame]()) // Sent by each pair; not left yet.
  private val inside = mutable.ArrayBuffer[Frame]()              // Received; not come yet.
  private val latest = mutable.Seq(-1L, -1L)        // The last frame that came to each pair.
  private val back   = mutable.HashMap[Int, Long]() // The first frame of a group that has come.
  private var serial = 0L
  private var resets = 0  // Queues that were reset. Each has a group of frames that may be lost.
  private var gone   = 0  // Chains that queues had when they were reset.
  private var long   = 0  // Frames that were too long for a chain.
  private var bad    = 0  // Frames whose source has found them bad.
  var moved          = 0  // Frames that have arrived, in both directions.
  var lost           = 0L // Received frames that were lost.

  /** A transmit queue has a new frame. Without data the chain has no frame, and nothing leaves. */
  def send(pair: Int, data: IndexedSeq[Byte], flow: Int): Frame = {
    val frame = new Frame(next(), data, flow, Set(pair))
    if (data.nonEmpty) lines(pair) += frame
    frame
  }

  /** The device has used the chain of a sent frame, so the frame leaves. */
  def used(frame: Frame): Unit = if (frame.data.nonEmpty) frame.used = true

  /** A frame has left the card. */
  def left(data: IndexedSeq[Byte]): Frame = {
    val pair = lines.indexWhere(_.exists(_.data == data))
    assert(
      pair >= 0,
      s"a frame of ${data.size} bytes has left, and it was not sent, or left before"
    )
    val place = lines(pair).indexWhere(_.data == data)
    val frame = lines(pair)(place)
    for (other <- lines(pair).take(place))
      assert(
        !other.used && other.group != 0 && other.group != frame.group,
        s"a frame of pair $pair was left out"
      )
    lines(pair).remove(0, place + 1)
    moved += 1
    frame
  }

  /** The sent frames that must still leave. */
  def owed: Int = lines.flatten.count(frame => frame.used || frame.group == 0)

  /** A transmit queue was reset when it had these frames. Those of chains that were published may be
    * lost, and the others are.
    */
  def cut(pair: Int, published: Seq[Frame], others: Seq[Frame]): Unit = {
    resets += 1
    gone += published.size
    published.foreach(_.group = resets)
    lines(pair) --= others
  }

  /** A frame goes into the card, and comes to one of these pairs. A bad frame is lost. */
  def input(data: IndexedSeq[Byte], pairs: Set[Int], isBad: Boolean): Unit = {
    val frame = new Frame(next(), data, -1, pairs)
    frame.bad = isBad
    if (isBad) bad += 1
    inside += frame
  }

  /** The bytes of received frames that the device may still have. It has none of a frame in front of
    * one that has come.
    */
  def waiting: Seq[Int] = inside.filter(_.serial > latest.max).map(_.data.size).toSeq

  /** A received frame has come to a pair of queues. */
  def came(pair: Int, data: IndexedSeq[Byte]): Unit = {
    val place = inside.indexWhere(_.data == data)
    assert(place >= 0, s"another frame of ${data.size} bytes came to pair $pair, or it came twice")
    val frame = inside.remove(place)
    assert(!frame.bad, "a bad frame came")
    assert(frame.pairs(pair), s"a frame came to pair $pair, and not to ${frame.pairs}")
    assert(frame.serial > latest(pair), s"frames of pair $pair came in another order")
    latest(pair) = frame.serial
    if (frame.pairs.size == 1) back.getOrElseUpdate(frame.group, frame.serial)
    moved += 1
  }

  /** The device has lost a frame that was too long for a chain. */
  def overran(): Unit = long += 1

  /** All frames that are inside now may come to either pair. */
  def loosen(): Unit = inside.foreach(_.pairs = Set(0, 1))

  /** A receive queue was reset when it had so many chains. The frames in them may be lost, which are
    * the oldest ones of the pair.
    */
  def cutReceive(pair: Int, chains: Int): Unit = {
    resets += 1
    gone += chains
    for (frame <- inside if frame.pairs(pair)) frame.group = resets
  }

  /** The device has nothing left to do, so all frames that have not arrived are lost. It says that
    * it has lost `count` frames. `full` says that its store may have been full.
    */
  def settle(count: Long, full: Boolean): Unit = {
    assert(owed == 0, s"$owed frames have not left")
    val must = inside.count(frame => frame.group == 0 || frame.bad || isBehind(frame))
    val all  = inside.size
    assert(
      count >= must && count >= all - gone && count <= all + gone,
      s"$count frames are counted as lost, not $all: $inside did not come, $this"
    )
    val known = long + bad
    assert(
      full || (count >= known && count <= known + gone),
      s"$count frames are lost, and there was room: $this"
    )
    lost += inside.size
    forget()
  }

  /** A frame of the same queue that came in later has arrived. */
  private def isBehind(frame: Frame): Boolean =
    frame.pairs.size == 1 && back.get(frame.group).exists(_ < frame.serial)

  /** Forgets all frames. Those that were sent completely have left. */
  def forget(): Unit = {
    assert(!lines.flatten.exists(_.used), "a frame was sent, and has not left")
    (lines :+ inside).foreach(_.clear())
    back.clear()
    gone = 0
    long = 0
    bad = 0
  }

  override def toString: String =
    s"$long too long frames, $bad bad ones, $gone chains reset"

  private def next(): Long = {
    serial += 1
    serial
  }
}

object FrameLedger {

  /** A frame. A received one comes to one of `pairs`. With a `group` it may be lost, since its queue
    * was reset.
    */
  class Frame(val serial: Long, val data: IndexedSeq[Byte], val flow: Int, var pairs: Set[Int]) {
    var used                      = false // The driver was told that the device has sent it.
    var group                     = 0
    var bad                       = false
    override def toString: String = s"${data.size} bytes for $pairs" + (if (bad) ", bad" else "")
  }
}
