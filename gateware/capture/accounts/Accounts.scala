// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.accounts

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.{Frames, Numbers}

/** Counts for each queue and port how many frames were delivered, bad or lost.
  *
  * `snapshot` copies all accounts as they are at one moment, and `account` shows entry `index` of
  * the copy a cycle later. While the copy is made, fates wait in a queue, and frames wait if the
  * queue is full. So in each copy
  *
  * frames of a port = delivered + bad + lostRing + lostNoCell
  *
  * holds for the frames whose fate was decided, and their bytes. `clear` sets all accounts to zero.
  * It is also needed after reset, and takes twice as long as a snapshot.
  */
case class Accounts(queueWidth: Int = 0) extends Component {
  val io = new Bundle {
    val fates    = slave(Stream(Accounts.FrameFate(queueWidth)))
    val clear    = in Bool ()
    val snapshot = in Bool ()
    val busy     = out Bool ()
    // `queue` and `index` select the shown account. `index` has the account's port in its upper
    // bits, and its fate in the lower two.
    val queue   = in UInt (queueWidth bits)
    val index   = in UInt (Accounts.Width bits)
    val account = out(AccountTable.Account())
  }
  val tally = AccountTable(queueWidth + Accounts.Width)
  val count = AccountTable.Count(queueWidth + Accounts.Width)
  count.entry := io.fates.payload.queue @@ io.fates.port @@ io.fates.fate.asBits.asUInt
  count.bytes := io.fates.bytes
  tally.io.counts << io.fates.translateWith(count)
  tally.io.clear    := io.clear
  tally.io.snapshot := io.snapshot
  tally.io.index    := io.queue @@ io.index
  io.busy           := tally.io.busy
  io.account        := tally.io.account
}

object Accounts {
  val Width   = Frames.PortWidth + Numbers.CaptureFateBits
  val Entries = 1 << Width

  /** The fates of frames. Each frame that reaches the capture block has exactly one of them: it is
    * recorded, or left out for a reason.
    */
  object Fate extends SpinalEnum(binarySequential) {
    val delivered = newElement()
    // The frame's source marked it as faulty, and it was not recorded.
    val bad = newElement()
    // Lost: the ring in host memory had no room below the host's limit.
    val lostRing   = newElement()
    val lostNoCell = newElement() // Lost: the staging memory on the card was full.
  }

  case class FrameFate(queueWidth: Int = 0) extends Bundle {
    val fate  = Fate()
    val queue = UInt(queueWidth bits)
    val port  = UInt(Frames.PortWidth bits)
    val bytes = UInt(16 bits) // Length of the frame at its source, in bytes.
  }
}
