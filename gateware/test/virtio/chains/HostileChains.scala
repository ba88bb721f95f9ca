// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.chains

import scala.language.reflectiveCalls
import scala.util.Random

import lanebox.virtio.vocabulary.{Violation, VirtioParam}
import lanebox.virtio.{ConsoleDriver, DriverQueue, HostMemory, PackedQueue, VirtioRegisters}

/** Breaks a rule in the transmit queue or in the receive queue of a console, which has room there.
  * The device must end in NEEDS_RESET with the right reason.
  */
class HostileChains(
    driver: ConsoleDriver,
    random: Random,
    packed: Boolean,
    traffic: ChainTraffic
) {
  import HostileChains._
  import PackedQueue.{Indirect, Next, Write}
  private val memory = driver.memory

  /** A rule that is broken: what the device says, and how many descriptors of the queue it needs.
    */
  case class Act(name: String, reason: Violation.E, entries: Int, does: Int => Unit)

  private def buffer(bytes: Int = 1 + random.nextInt(100)): (Long, Int) = {
    val at = memory.make(bytes, 16)
    memory.grant(at, bytes, 3)
    (at, bytes)
  }
  private def nowhere: (Long, Int) =
    (HostMemory.Unmapped | random.nextLong() & 0xffffffffL, 16 + random.nextInt(200))
  private def way(n: Int): Int = if (n == 0) Write else 0

  /** Makes an indirect table in which the last descriptor has the flags `flags`. */
  private def table(n: Int, parts: Seq[(Long, Int)], flags: Int = 0, next: Int = 0): (Long, Int) = {
    val place = buffer(16 * parts.size)
    for ((part, i) <- parts.zipWithIndex) {
      val last = i + 1 == parts.size
      val more = if (last) flags else Next
      driver.queues(n).descriptor(place._1, i, part, way(n) | more, if (last) next else i + 1)
    }
    place
  }

  /** Offers a chain of these buffers with their flags. With `loop` the last descriptor of a split
    * ring names the first one.
    */
  private def chain(n: Int, parts: Seq[((Long, Int), Int)], loop: Option[Int] = None): Unit =
    driver.queues(n) match {
      case ring: PackedQueue =>
        for ((place, flags) <- parts) ring.put(place, flags, ring.unused.head)
      case ring =>
        val entries = ring.unused.take(parts.size)
        for (((place, flags), i) <- parts.zipWithIndex) {
          val next = if (i + 1 < parts.size) entries(i + 1) else loop.getOrElse(entries.head)
          ring.descriptor(ring.descriptors, entries(i), place, flags, next)
        }
        ring.offer(entries.head)
    }

  private def one(name: String, reason: Violation.E, entries: Int = 1)(does: Int => Unit) =
    Act(name, reason, entries, does)

  private def common: Seq[Act] = Seq(
    one("a buffer of no bytes", Violation.empty, 2)(n =>
      if (random.nextBoolean()) chain(n, Seq(((buffer()._1, 0), way(n))))
      else chain(n, Seq((buffer(1), Next | way(n)), ((buffer()._1, 0), way(n))))
    ),
    one("a buffer of the other direction", Violation.direction)(n =>
      chain(n, Seq((buffer(), Write & ~way(n))))
    )
  )

  private def tables: Seq[Act] = Seq(
    one("a table of no entries", Violation.indirect)(n =>
      chain(n, Seq(((table(n, Seq(buffer()))._1, 0), Indirect)))
    ),
    one("a table of parts of entries", Violation.indirect)(n =>
      chain(n, Seq(((table(n, Seq(buffer()))._1, 17 + random.nextInt(15)), Indirect)))
    ),
    one("a table with a next descriptor", Violation.indirect, 2)(n =>
      chain(n, Seq((table(n, Seq(buffer())), Indirect | Next), (buffer(), way(n))))
    )
  )

  private def splitTables: Seq[Act] = Seq(
    one("a table in a table", Violation.indirect)(n =>
      chain(n, Seq((table(n, Seq(table(n, Seq(buffer()))), Indirect), Indirect)))
    ),
    one("a table without end", Violation.endless)(n =>
      chain(n, Seq((table(n, Seq(buffer(1), buffer(1)), Next, random.nextInt(2)), Indirect)))
    ),
    one("an entry beyond the table", Violation.nextEntry)(n =>
      chain(n, Seq((table(n, Seq(buffer(1), buffer(1)), Next, 2 + random.nextInt(3000)), Indirect)))
    )
  )

  private def split: Seq[Act] = Seq(
    one("a chain without end", Violation.endless, 2)(n =>
      chain(n, Seq.fill(1 + random.nextInt(2))((buffer(1), Next | way(n))))
    ),
    one("a descriptor beyond the queue", Violation.nextEntry) { n =>
      val beyond = driver.queues(n).size + random.nextInt(3000)
      chain(n, Seq((buffer(1), Next | way(n))), Some(beyond))
    },
    one("a head beyond the queue", Violation.head) { n =>
      driver.queues(n).offer(driver.queues(n).size + random.nextInt(60000))
    }
  )

  private val notAgreed = one("a table that was not agreed on", Violation.indirect)(n =>
    chain(n, Seq((table(n, Seq(buffer())), Indirect)))
  )
  private val unread = Seq(
    one("a buffer that is not mapped", Violation.read)(_ => chain(1, Seq((nowhere, 0)))),
    one("a part that is not mapped", Violation.read, 2)(_ =>
      chain(1, Seq((buffer(), Next), (nowhere, 0)))
    )
  )
  private val noTable = one("a table that is not mapped", Violation.read)(n =>
    chain(n, Seq(((nowhere._1, 32), Indirect)))
  )

  /** An available index that is too far ahead. A notification has no index, so the device reads it. */
  private val tooFar = one("an index too far ahead", Violation.index) { n =>
    val ring = driver.queues(n)
    for (_ <- 0 to ring.size) ring.offer(0)
  }

  /** Breaks a rule, and waits until the device has stopped. Returns what was done.
    *
    * A receive chain is looked at only as far as a message needs it. So the chain that breaks a rule
    * is the only one, and gets a whole message of 64 bytes or more.
    */
  def breakRule(): String = {
    val n = if (random.nextInt(3) == 0) 0 else 1
    if (n == 0) traffic.drain()
    val acts = common ++ (if (packed) Seq() else split) ++ (if (n == 1) unread else Seq()) ++
      (if (!packed && !driver.hinted && n == 1) Seq(tooFar) else Seq()) ++
      (if (!driver.indirect) Seq(notAgreed)
       else tables ++ Seq(noTable) ++ (if (packed) Seq() else splitTables))
    val fit = acts.filter(_.entries <= driver.queues(n).room)
    if (fit.isEmpty) "nothing"
    else {
      val act = fit(random.nextInt(fit.size))
      act.does(n)
      driver.queues(n).publish()
      driver.notify(n)
      stops(act, n)
      s"${act.name} in queue $n"
    }
  }

  private def stopped: Boolean = (driver.read(VirtioRegisters.Status) & 0x40) != 0

  private def stops(act: Act, n: Int): Unit = {
    var left = Most
    while (!stopped) {
      assert(left > 0, s"${act.name} in queue $n does not stop the device")
      left -= 1
      if (n == 0) traffic.feed()
      driver.step(50)
    }
    val found = driver.read(VirtioRegisters.Reason)
    assert(found == act.reason.position, s"${act.name} in queue $n has the reason $found")
    driver.step(300)
    driver.host.silent = true
    driver.notify(n)
    driver.step(50)
    driver.host.silent = false
  }
}

object HostileChains {
  val Most = 400 // Looks at the device's status.
}
