// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** What a fence waits for. */
sealed trait FenceKind
object FenceKind {
  case object Ordered extends FenceKind // Writes handed to RQ: for a message that goes there, too.
  case object Sent    extends FenceKind // Writes out of the hard block: for one that goes beside.
}

/** Holds a message back until all requests that were handed over before it are done with.
  *
  * That is, of every client: its writes are where `kind` says, its reads' data is with it.
  * Requests that come later are not waited for, however many there are; what has gone to RQ before
  * the message is, though the rest of its request may come behind. One message is held at a time.
  * `delivered` has a pulse for each request whose last data a reading client has taken.
  */
case class Fence(p: RequestParam, kind: FenceKind) extends Component {
  val io = new Bundle {
    val progress  = in(RequestProgress(p))
    val delivered = in Vec (Bool(), p.readers.size)
    val message   = slave(Stream(Bits(8 bits)))
    val passed    = master(Stream(Bits(8 bits)))
  }
  val countBits = 10 // More requests than the stores, the tags and the landing memory hold.

  val held    = io.message.m2sPipe() // As late as io.progress.
  val waiting = RegInit(False)
  val begins  = held.valid && !waiting

  /** How many of a client's requests stand before the message. */
  case class Before(entered: Bool, done: Bool) extends Area {
    val inside = Reg(UInt(countBits bits)) init 0
    val ahead  = Reg(UInt(countBits bits)) init 0
    val now    = inside + entered.asUInt - done.asUInt
    inside := now
    when(begins)(ahead := now) elsewhen (done && ahead =/= 0)(ahead := ahead - 1)
  }
  val writes = for (client <- p.writers)
    yield Before(io.progress.writeEntered(client), io.progress.writeIssued(client))
  val reads = for ((client, delivered) <- p.readers.zip(io.delivered))
    yield Before(io.progress.readEntered(client), RegNext(delivered) init False)
  def over(before: Seq[Before]): Bool = // Stays, since only `begins` sets `ahead`.
    RegNext(waiting && !begins && before.map(_.ahead === 0).andR) init False
  val issued    = over(writes)
  val delivered = over(reads)

  val gone = kind match {
    case FenceKind.Ordered => issued
    case FenceKind.Sent    =>
      // At most 31 of the writes issued so far are on their way: the difference's sign is exact
      // now, but not for as long as a read may take.
      val target = RegNextWhen(io.progress.issued, !issued)
      val gone   = RegInit(False)
      gone := waiting && (gone || (issued && !(io.progress.returned - target).msb))
      gone
  }
  val passing = RegNext(waiting && gone && delivered && !io.passed.fire) init False
  when(begins)(waiting         := True)
  when(io.passed.fire)(waiting := False)
  io.passed << held.continueWhen(passing)
}
