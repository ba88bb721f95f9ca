// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.queue

import java.util.{ArrayDeque, SplittableRandom}

/** The way between InterruptRace and the driver in the host, with random latencies.
  *
  * Writes and reads of the device wait in the card, and then go over the link. An interrupt goes
  * onto the link at once, so it passes what waits in the card. On the link nothing passes anything.
  * If `breaks` is one of the rules of the host, the host does not keep this rule.
  */
class RaceHost(random: SplittableRandom, queue: RaceQueue, breaks: RaceHost.Rule) {
  import RaceHost._

  val driver       = new RaceDriver(random, queue, () => kick())
  var interrupts   = 0L
  private var now  = 0L
  private val slow = 1 + random.nextInt(8) // Each part of the way takes fewer cycles than this.
  private val data = random.nextInt(4)     // The higher, the slower data of chains comes.
  private val card, link, back, doorbells = new Line
  private var ready                       = false
  private var answer                      = -1L // What the device gets in the next cycle, or -1.
  private var kicked                      = -1  // Likewise.
  private var quiet                       = 0   // Cycles in which nothing was under way.

  private def soon: Long =
    now + 1 + random.nextInt(slow) + (if (random.nextInt(256) == 0) random.nextInt(300) else 0)

  private def kick(): Unit = {
    val index = queue.place(driver.available)
    doorbells.add(soon, () => kicked = index)
  }

  /** Lets what was asked for reach the host's memory behind all that waits. */
  private def post(deed: () => Unit): Unit = card.add(soon, () => link.add(soon, deed))

  private def read(find: () => Long): Unit = {
    def reply(): Unit = {
      val found = find()
      back.add(soon, () => answer = found)
    }
    if (breaks == ReadsPassNothing) reply() else post(() => reply())
  }

  /** Does what host and driver do in a cycle. `seen` is the device's output in it. Returns its input
    * in the next one.
    */
  def cycle(seen: Long): Long = {
    now += 1
    answer = -1
    kicked = -1
    if ((seen & Acts) != 0) act(seen)
    card.deliver(now)
    link.deliver(now)
    back.deliver(now)
    // The card's bus leaves a cycle between two notifications.
    if ((now & 1) == 0) doorbells.deliverOne(now)
    driver.step()
    val moving = (seen & Busy) != 0 || !(card.empty && link.empty && back.empty && doorbells.empty)
    quiet = if (moving || !driver.asleep || kicked >= 0 || answer >= 0) 0 else quiet + 1
    if (quiet > Settled) driver.nothingComes()
    drive
  }

  private def act(seen: Long): Unit = {
    assert((seen & Violated) == 0, "the device says that the driver has violated a rule")
    val value = (seen & 0xffff).toInt
    if ((seen & Shows) != 0)
      if (queue.packed) post(() => driver.used = driver.used + 1 & 0xffff)
      else post(() => driver.used = value)
    if ((seen & Arms) != 0) post(() => driver.armed = value)
    if ((seen & AsksEvent) != 0) read(() => driver.wish)
    if ((seen & AsksIndex) != 0) read(() => driver.head)
    if ((seen & Announced) != 0) {
      interrupts += 1
      link.add(soon, () => driver.interrupt())
    }
  }

  private def drive: Long = {
    val dice                               = random.nextInt()
    def bit(at: Int, value: Boolean): Long = if (value) 1L << at else 0L
    val posted                             = card.empty || breaks == InterruptsPassNothing
    (answer max 0) | (kicked max 0).toLong << 32 |
      bit(48, answer >= 0) |
      bit(49, kicked >= 0) |
      bit(50, queue.hints) |
      bit(51, (dice & 3) != 0) | // ready
      bit(52, posted) |
      bit(53, (dice >> 2 & (1 << data) - 1) == 0) | // moves
      bit(54, (dice >> 8 & 3) != 0) |               // fetches
      bit(55, (dice >> 10 & 7) != 0) |              // frames
      bit(56, (dice >> 13 & 3) != 0)                // alone
  }
}

object RaceHost {

  /** A rule that the host keeps, and on which the device relies. */
  sealed trait Rule
  case object ReadsPassNothing      extends Rule // No read passes a write.
  case object InterruptsPassNothing extends Rule // `posted` says that no write waits.
  case object NoRule                extends Rule

  val Settled = 100 // Cycles.

  // Bits of the device's output: the fields of InterruptRace.Seen.
  val Shows     = 1L << 18
  val Arms      = 1L << 19
  val AsksEvent = 1L << 20
  val AsksIndex = 1L << 21
  val Announced = 1L << 22
  val Busy      = 1L << 23
  val Violated  = 1L << 24
  val Acts      = Shows | Arms | AsksEvent | AsksIndex | Announced | Violated

  /** Deeds that are done in their order, none before its cycle. */
  class Line {
    private val deeds = new ArrayDeque[Deed]()

    def add(cycle: Long, does: () => Unit): Unit = deeds.add(Deed(cycle, does))
    def empty: Boolean                           = deeds.isEmpty
    def deliver(now: Long): Unit                 = while (deliverOne(now)) {}
    def deliverOne(now: Long): Boolean = {
      val due = !deeds.isEmpty && deeds.peek.cycle <= now
      if (due) deeds.poll.does()
      due
    }
  }
  private case class Deed(cycle: Long, does: () => Unit)
}
