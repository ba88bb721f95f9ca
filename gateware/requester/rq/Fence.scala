// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** How far the writes in front of a message must have gone before the message may pass. */
sealed trait FenceKind
object FenceKind {
  // The writes have gone to RQ: for a message that follows them on RQ (MSI-X).
  case object Ordered extends FenceKind
  // The writes have left the hard block: for a message that does not go through RQ (MSI).
  case object Sent extends FenceKind
}

/** Holds a message back until all requests that clients handed over before it are done.
  *
  * A write is done when it is where `kind` says, a read when its client has taken its data.
  * Requests of any client that come after the message are not waited for. One exception: with
  * `Sent`, write TLPs of later requests that went to RQ before the last earlier one are waited for,
  * too. One message is held at a time. `delivered` pulses when a reading client has taken the last
  * data of a request.
  */
case class Fence(p: RequestParam, kind: FenceKind) extends Component {
  val io = new Bundle {
    val progress  = in(RequestProgress(p))
    val delivered = in Vec (Bool(), p.readers.size)
    val message   = slave(Stream(Bits(8 bits)))
    val passed    = master(Stream(Bits(8 bits)))
  }
  val countBits = 10 // More requests than the stores, the tags and the landing memory can hold.

  val held    = io.message.m2sPipe() // A cycle late, like io.progress.
  val waiting = RegInit(False)
  val begins  = held.valid && !waiting

  /** Counts how many of a client's requests stand before the message. */
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
  def over(before: Seq[Before]): Bool = // True until the next message: only `begins` sets `ahead`.
    RegNext(waiting && !begins && before.map(_.ahead === 0).andR) init False
  val issued    = over(writes)
  val delivered = over(reads)

  val gone = kind match {
    case FenceKind.Ordered => issued
    case FenceKind.Sent    =>
      // At most 31 issued writes have not left yet, so the sign of the 6-bit difference is exact
      // now. It would not be later, when the fence still waits for a read: so `gone` is kept.
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
