// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.queue

import java.util.SplittableRandom

/** The queue of a race: `size` entries, all indices of which begin with `start`. `events` says
  * whether EVENT_IDX was agreed on, and `hints` whether NOTIFICATION_DATA was.
  */
case class RaceQueue(packed: Boolean, events: Boolean, hints: Boolean, size: Int, start: Int) {
  def less(a: Int, b: Int): Int = (a - b) & 0xffff

  /** Returns an index as event structures and notifications have it. */
  def place(index: Int): Int =
    if (packed) index & (size - 1) | (if ((index & size) == 0) 1 << 15 else 0) else index

  /** Returns whether the step from index `old` to `now` passes the index in the event `place`. */
  def passes(place: Int, now: Int, old: Int): Boolean = {
    val event  = if (packed) place & (size - 1) | (if (place >> 15 == 0) size else 0) else place
    val within = if (packed) 2 * size - 1 else 0xffff
    (less(now, event + 1) & within) < less(now, old)
  }
}

/** A driver of one queue that sleeps until an interrupt comes, as Linux's virtio_ring lets drivers
  * do, with random pauses between its steps.
  *
  * Before it sleeps, it writes its event and flags, and then looks for used entries once more. An
  * interrupt wakes it only if it then finds used entries, and has no effect while the driver is
  * awake. The driver notifies the device only if the device's event asks for it.
  */
class RaceDriver(random: SplittableRandom, queue: RaceQueue, notify: () => Unit) {
  import queue.{events, less, packed, passes, place, size, start}
  import RaceDriver._

  // In host memory.
  var used          = start        // As the device has shown it.
  var armed         = place(start) // The device's event.
  var available     = start
  private var event = start
  private var flags = Never

  var wakes = 0 // Interrupts that have woken the driver.
  var lost  = 0 // Sleeps from which no interrupt would have woken it.

  private val slow   = 1 + random.nextInt(10) // Each step takes fewer cycles than this.
  private val allows = if (packed && events) AtPlace else 0
  private var taken  = start                  // The driver's own used index.
  private var pause  = 0
  private var delay = 0     // With event indices, more used entries than this wake the driver.
  private var quiet = false // The driver forbids interrupts while it is awake.
  private var feeds = false // Entries are given while the driver sleeps.
  private var next: () => Unit = () => give()

  var asleep = false

  private def news: Int = less(used, taken)
  private def out: Int  = less(available, taken)

  /** Returns what the device reads as the driver's event. */
  def wish: Long = place(event).toLong | (if (packed) flags.toLong << 16 else 0)

  /** Returns what the device reads as the head of the available ring. */
  def head: Long = available.toLong << 16 | (if (events) 0 else flags)

  def interrupt(): Unit = if (asleep && news > 0) {
    wakes += 1
    wake()
  }

  /** The device has nothing more to do. A driver that sleeps now sleeps for ever. */
  def nothingComes(): Unit = if (asleep) {
    lost += 1
    wake()
  }

  def step(): Unit =
    if (asleep) { if (feeds && random.nextInt(16) == 0) publish(1) }
    else if (pause > 0) pause -= 1
    else next()

  private def goOn(step: () => Unit): Unit = {
    next = step
    pause = random.nextInt(slow)
  }

  /** Gives up to `count` entries to the device, and then looks whether to notify it. */
  private def publish(count: Int): Unit = {
    val old = available
    available = (available + (count min size - out)) & 0xffff
    if (old != available && (!events || passes(armed, available, old))) notify()
  }

  private def wake(): Unit = {
    asleep = false
    quiet = random.nextBoolean()
    goOn(() => {
      if (quiet) flags = Never
      goOn(() => take())
    })
  }

  /** Takes the used entries, one at a time. A driver that allows interrupts meanwhile asks for one
    * for the next entry.
    */
  private def take(): Unit =
    if (news == 0) goOn(() => give())
    else {
      taken = (taken + 1) & 0xffff
      if (!quiet) event = taken
      if (random.nextInt(4) == 0) publish(1)
      if (random.nextInt(4) == 0) goOn(() => take()) else next = () => take()
    }

  private def give(): Unit = {
    publish(1 + random.nextInt(size min Most))
    delay = if (events && random.nextInt(4) == 0) out * 3 / 4 else 0
    goOn(() => allow())
  }

  private def allow(): Unit = {
    event = (taken + delay) & 0xffff
    goOn(() => {
      flags = allows
      goOn(() => check())
    })
  }

  private def check(): Unit =
    if (news > delay) goOn(() => take())
    else {
      asleep = true
      feeds = random.nextInt(4) == 0
    }
}

object RaceDriver {
  val Most = 4 // Entries that the driver gives at once.

  // Flags of an event structure. Those of an available ring have the same bit for no interrupt.
  val Never   = PackedRing.Never
  val AtPlace = PackedRing.AtPlace
}
