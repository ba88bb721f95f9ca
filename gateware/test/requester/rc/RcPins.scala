// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rc

import spinal.core.sim._
import spinal.lib._

import lanebox.vocabulary.HardBlock.RcBeat

/** A completion as the hard block presents it on RC: the fields of its descriptor, and its data. */
case class RcCompletion(
    tag: Int,
    address: Int,
    byteCount: Int,
    dwords: Int,
    // The completion's data. It has `dwords` dwords, unless a test models a broken hard block.
    payload: Seq[Int],
    done: Boolean,
    status: Int = 0,
    poisoned: Boolean = false,
    code: Int = 0,
    cut: Boolean = false,
    // The hard block shows this completion twice in a row on RC.
    twice: Boolean = false,
    read: Option[HostRead] = None
) {
  def words: Array[Int] = Array(
    (address & 0xfff) | code << 12 | byteCount << 16 | (if (done) 1 << 30 else 0),
    dwords | status << 11 | (if (poisoned) 1 << 14 else 0) | 0x0100 << 16,
    tag | 0x00a0 << 8
  ) ++ payload
}

/** Drives the RC pins as the hard block does (PG213), with straddle or without. sim/board's
  * completion_source does the same.
  *
  * With straddle a second completion begins in lane 4 if the one before ends in lane 3 or below.
  * Then `keep` is all ones and `last` is never set. Without straddle `keep` and `last` delimit a
  * completion, and `end` is not used. In a cycle for which `pauses` is true there is no beat, be it
  * inside a completion or between two.
  */
class RcPins(rc: Stream[Fragment[RcBeat]], straddle: Boolean, pauses: () => Boolean = () => false) {
  private val data                   = new Array[Int](8)
  private var used, starts, position = 0
  // Lanes of the present beat in which completions end, the first one last in the list.
  private var ends         = List[Int]()
  private var cut, showing = false
  private var packet       = Array[Int]()
  // The hard block cuts the present completion short (`discontinue`).
  private var cuts        = false
  var beats, backPressure = 0L

  /** Runs one cycle of the RC pins. `next` is called with the number of lanes (dwords) of the beat
    * that are in use, and gives the completion that begins now, if any.
    */
  def cycle(next: Int => Option[RcCompletion]): Unit = {
    if (showing) {
      if (rc.ready.toBoolean) taken() else backPressure += 1
    }
    var asks = true
    while (asks && room) next(used) match {
      case Some(completion) => load(completion)
      case None             => asks = false
    }
    show()
  }

  def idle: Boolean = !showing && used == 0

  private def room = !showing && position >= packet.length && !cut &&
    (used == 0 || straddle && used <= 4)

  private def taken(): Unit = {
    beats += 1
    showing = false
    used = 0
    starts = 0
    ends = Nil
    cut = false
    if (position < packet.length) place()
  }

  private def load(completion: RcCompletion): Unit = {
    packet = completion.words
    position = 0
    cuts = completion.cut
    if (used > 0) used = 4
    place()
  }

  private def place(): Unit = {
    val count = (8 - used) min (packet.length - position)
    Array.copy(packet, position, data, used, count)
    if (position == 0) starts = starts << 1 | 1
    used += count
    position += count
    if (position == packet.length) {
      ends = (used - 1) :: ends
      cut = cuts
    }
  }

  /** Presents a beat on the RC pins. The beat stays unchanged until the card takes it. */
  private def show(): Unit = if (!showing) {
    showing = used > 0 && !pauses()
    rc.valid #= showing
    for (i <- used until 8) data(i) = simRandom.nextInt()
    rc.data #= RcPins.bits(data)
    rc.keep #= (if (straddle) 0xff else (1 << used) - 1)
    rc.last #= showing && !straddle && ends.nonEmpty
    rc.discontinue #= cut
    for (i <- 0 to 1) {
      rc.start(i) #= showing && (starts >> i & 1) == 1
      val ended = straddle && ends.length > i
      val lane  = if (ended) ends(ends.length - 1 - i) else simRandom.nextInt(8)
      rc.end(i).valid #= ended
      rc.end(i).dword #= lane
    }
  }
}

object RcPins {

  /** Packs dwords into one number for a beat of RC, dword 0 in the lowest bits. */
  def bits(words: Seq[Int]): BigInt = {
    val bytes = new Array[Byte](words.length * 4)
    for (i <- words.indices; b <- 0 to 3)
      bytes(bytes.length - 1 - 4 * i - b) = (words(i) >> 8 * b).toByte
    BigInt(1, bytes)
  }
}
