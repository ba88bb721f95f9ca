// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rc

import scala.collection.mutable
import scala.util.Random
import spinal.core.SpinalEnumElement

import lanebox.vocabulary.ReadError

/** Makes random faults in the host's answers to reads, each with probability `chance`. For each
  * fault the test knows the error with which its read must end.
  *
  * With a `timeout` in cycles, only faults are made after which completions come late or never.
  * With 0 only others are made.
  */
class RandomFaults(random: Random, chance: Double, timeout: Long = 0) extends Faults {
  type Error   = SpinalEnumElement[ReadError.type]
  type Answers = Seq[(RcCompletion, Long)]

  val reads                        = mutable.Map[Error, Int]().withDefaultValue(0)
  var unexpected, duplicates, late = 0
  private val struck               = mutable.Map[String, Int]().withDefaultValue(0)

  def kinds: Seq[String] = struck.keys.toSeq.sorted

  private type Fault = (HostRead, Seq[RcCompletion], ReturnHost) => Answers

  private def now(pieces: Seq[RcCompletion]): Answers = pieces.map((_, 0L))

  private def some(pieces: Seq[RcCompletion])(change: RcCompletion => RcCompletion): Answers = {
    val at = random.nextInt(pieces.length)
    now(pieces.updated(at, change(pieces(at))))
  }

  /** Returns an answer that has the first few correct completions of a read, and then `end`. */
  private def ended(pieces: Seq[RcCompletion], end: RcCompletion): Answers =
    now(pieces.take(random.nextInt(pieces.length)) :+ end)

  private def refusal(read: HostRead, status: Int) = RcCompletion(
    read.tag,
    read.claim.address + read.skip,
    read.byteCount,
    0,
    Nil,
    done = true,
    status = status,
    code = 2,
    read = Some(read)
  )

  /** Returns the hard block's report that a read has failed. Only the tag of such a report is valid
    * (PG213). The other fields are all ones, so that no logic can rely on them.
    */
  private def report(read: HostRead, code: Int) = RcCompletion(
    read.tag,
    0xfff,
    0x1fff,
    0x7ff,
    Nil,
    done = true,
    status = 7,
    code = code,
    read = Some(read)
  )

  private def fails(read: HostRead, error: Error): Unit = {
    reads(error) += 1
    read.claim.errors += error
  }

  private def failing(error: Error)(answer: (HostRead, Seq[RcCompletion]) => Answers): Fault =
    (read, pieces, _) => {
      fails(read, error)
      answer(read, pieces)
    }

  private def extra(read: HostRead, pieces: Seq[RcCompletion], tag: Int): Answers = {
    val stray = pieces(random.nextInt(pieces.length))
      .copy(tag = tag, code = RcDescriptor.InvalidTag, done = random.nextBoolean(), read = None)
    val (before, after) = pieces.splitAt(random.nextInt(pieces.length + 1))
    unexpected += 1
    now((before :+ stray) ++ after)
  }

  /** Returns `completion`, which does not fit its read. So the card must count it as unexpected and
    * duplicate, as if it belonged to an earlier read with the same tag. If the completion is marked
    * as the last one of its read (`done`), the card does not count it so.
    */
  private def named(completion: RcCompletion): RcCompletion = {
    if (!completion.done) stray(1)
    completion
  }

  private def stray(count: Int): Unit = {
    unexpected += count
    duplicates += count
  }

  /** Makes a fault: from a random completion on, the answer seems to belong to another read. The
    * card drops these completions, so the read must time out.
    */
  private def foreign(change: RcCompletion => RcCompletion): Fault = (read, pieces, host) => {
    fails(read, ReadError.timeout)
    host.expire(read, timeout * 5 / 2)
    val at = random.nextInt(pieces.length)
    stray(pieces.length - at)
    now(pieces.updated(at, change(pieces(at))))
  }

  private val answered: Seq[(String, Fault)] = Seq(
    "unsupported" -> failing(ReadError.unsupported)((r, p) => ended(p, refusal(r, 1))),
    "retry"       -> failing(ReadError.unsupported)((r, p) => ended(p, refusal(r, 2))),
    "aborted"     -> failing(ReadError.aborted)((r, p) => ended(p, refusal(r, 4))),
    "poisoned" -> failing(ReadError.poisoned)((_, p) =>
      some(p)(_.copy(poisoned = true, code = 1))
    ),
    "poison bit" -> failing(ReadError.poisoned)((_, p) => some(p)(_.copy(poisoned = true))),
    "byte count by code" -> failing(ReadError.malformed)((_, p) =>
      some(p)(c => named(c.copy(byteCount = c.byteCount + 64, code = 3)))
    ),
    "attributes" -> failing(ReadError.malformed)((_, p) => some(p)(_.copy(code = 4))),
    "address by code" -> failing(ReadError.malformed)((_, p) =>
      some(p)(c => named(c.copy(address = c.address ^ 64, code = 5)))
    ),
    "too long" -> failing(ReadError.malformed)((_, p) =>
      now(p.init :+ p.last.copy(dwords = p.last.dwords + 1, payload = p.last.payload :+ 0x5a5a))
    ),
    "too early" -> failing(ReadError.malformed)((_, p) =>
      if (p.length > 1) now(p.init.init :+ p.init.last.copy(done = true))
      else now(Seq(p.head.copy(dwords = 0, payload = Nil)))
    ),
    "frame too short" -> failing(ReadError.malformed)((_, p) =>
      some(p)(c => c.copy(payload = c.payload.init))
    ),
    "frame too long" -> failing(ReadError.malformed)((_, p) =>
      some(p)(c => c.copy(payload = c.payload ++ Seq.fill(1 + random.nextInt(20))(0x1bad)))
    ),
    "cut"           -> failing(ReadError.cut)((_, p) => some(p)(_.copy(cut = true))),
    "block timeout" -> failing(ReadError.timeout)((r, p) => ended(p, report(r, 9))),
    "reset"         -> failing(ReadError.cut)((r, p) => ended(p, report(r, 8))),
    "stray"         -> ((read, pieces, _) => extra(read, pieces, read.tag ^ 0x80)),
    "duplicate" -> ((read, pieces, _) => {
      duplicates += 1
      extra(read, pieces, read.tag)
    }),
    "repeated" -> ((_, pieces, _) => {
      duplicates += 1
      unexpected += 1
      now(pieces.init :+ pieces.last.copy(twice = true))
    })
  )

  /** Faults in which the remaining completions of a read come after the card's timeout, or never.
    */
  private val lost: Seq[(String, Fault)] = Seq(
    "late" -> ((read, pieces, _) => {
      fails(read, ReadError.timeout)
      val (before, after) = pieces.splitAt(random.nextInt(pieces.length))
      late += after.length
      unexpected += after.length
      now(before) ++ after.map((_, timeout * 3 / 2 + random.nextInt(timeout.toInt)))
    }),
    "lost" -> ((read, pieces, host) => {
      fails(read, ReadError.timeout)
      host.expire(read, timeout * 5 / 2)
      now(pieces.take(random.nextInt(pieces.length)))
    }),
    "late report" -> ((read, pieces, _) => {
      fails(read, ReadError.timeout)
      late += 1
      unexpected += 1
      Seq((report(read, 9), timeout * 3 / 2))
    }),
    "no end" -> ((read, pieces, host) => {
      // The host sends all of the data, but the hard block never says that the read is complete.
      fails(read, ReadError.malformed)
      host.expire(read, timeout * 5 / 2)
      now(pieces.init :+ pieces.last.copy(done = false))
    }),
    "byte count" -> foreign(c => c.copy(byteCount = c.byteCount ^ 1 << random.nextInt(13))),
    "address"    -> foreign(c => c.copy(address = c.address ^ 1 << random.nextInt(7)))
  )

  def strike(read: HostRead, pieces: Seq[RcCompletion], host: ReturnHost): Answers =
    if (random.nextDouble() >= chance) now(pieces)
    else {
      val faults        = if (timeout == 0) answered else lost
      val (name, fault) = faults(random.nextInt(faults.length))
      struck(name) += 1
      fault(read, pieces, host)
    }

  def all: Int = (if (timeout == 0) answered else lost).length
}
