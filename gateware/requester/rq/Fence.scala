// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rq

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.ModuleName

/** Holds an interrupt message back until all requests that clients handed over before it are done.
  *
  * A write is done when it has gone as far as `kind` says, a read when its client has taken its
  * data. Reads of a client that is not `fenced` hold no message back. The fence does not wait for
  * requests that come after the message, with one exception: if `kind` is `Sent`, it also waits for
  * write TLPs of later requests that went to RQ before the last TLP of an earlier request. The
  * fence holds one message at a time. `delivered` pulses when a reading client has taken the last
  * data of a request.
  *
  * With `only` the fence waits for the writes of the client with that number, for no other client's
  * and for no read.
  */
case class Fence(p: RequestParam, kind: Fence.Kind, only: Option[Int] = None) extends Component {
  ModuleName(this, (s"$kind" +: only.map(p.clients(_).name).toSeq).mkString("_"))
  val io = new Bundle {
    val progress  = in(RequestPath.Progress(p))
    val delivered = in Vec (Bool(), p.readers.size)
    val message   = slave(Stream(Bits(8 bits)))
    val passed    = master(Stream(Bits(8 bits)))
  }
  // Bits to count all the requests that the stores, the tags and the landing memory can hold.
  val countBits = 10

  val held    = io.message.m2sPipe() // The message is delayed by a cycle, like io.progress.
  val waiting = RegInit(False)
  val begins  = held.valid && !waiting

  /** Counts how many unfinished requests a client had handed over before the message. */
  case class Before(entered: Bool, done: Bool) extends Area {
    val inside = Reg(UInt(countBits bits)) init 0
    val ahead  = Reg(UInt(countBits bits)) init 0
    val now    = inside + entered.asUInt - done.asUInt
    inside := now
    when(begins)(ahead := now) elsewhen (done && ahead =/= 0)(ahead := ahead - 1)
  }
  val writes = for (client <- only.fold[Seq[Int]](p.writers)(Seq(_)))
    yield Before(io.progress.writeEntered(client), io.progress.writeIssued(client))
  def fenced = p.readers.zip(io.delivered).filter { case (client, _) =>
    only.isEmpty && p.clients(client).fenced
  }
  val reads = for ((client, delivered) <- fenced)
    yield Before(io.progress.readEntered(client), RegNext(delivered) init False)
  // Returns a register that says whether all requests of `before` are done. It stays set until the
  // next message, which alone sets `ahead`.
  def over(before: Seq[Before]): Bool = {
    val done = before.map(_.ahead === 0).reduceOption(_ && _).getOrElse(True)
    RegNext(waiting && !begins && done) init False
  }
  val issued    = over(writes)
  val delivered = over(reads)

  val gone = kind match {
    case Fence.Ordered => issued
    case Fence.Sent    =>
      // At most 31 issued writes have not left the hard block yet, so at first the sign of the
      // 6-bit difference is exact. While the fence goes on waiting for a read, the count of
      // returned writes runs on, and the sign becomes wrong. So `went` keeps the answer.
      val goal = RegNextWhen(io.progress.issued, !issued)
      val went = RegInit(False)
      val gone = waiting && (went || (issued && !(io.progress.returned - goal).msb))
      went := gone
      gone
  }
  val passing = RegNext(waiting && gone && delivered && !io.passed.fire) init False
  when(begins)(waiting         := True)
  when(io.passed.fire)(waiting := False)
  io.passed << held.continueWhen(passing)
}

object Fence {

  /** Says how far the writes in front of an interrupt message must have gone before the message may
    * pass the fence.
    */
  sealed trait Kind

  /** The writes have gone to RQ. That is enough for MSI-X, whose message follows them on RQ. */
  case object Ordered extends Kind

  /** The writes have left the hard block. MSI needs this, since its message does not go through RQ.
    */
  case object Sent extends Kind
}
