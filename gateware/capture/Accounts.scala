// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.{Frames, Numbers}

/** Counts for each port how many frames were delivered, bad or lost.
  *
  * `snapshot` copies all accounts as they are at one moment, and `account` shows entry `index` of
  * the copy a cycle later. While the copy is made, fates wait in a queue, and frames wait if the
  * queue is full. So in each copy
  *
  * frames of a port = delivered + bad + lostRing + lostNoCell
  *
  * holds for the frames whose fate was decided, and their bytes. `clear` sets all accounts to zero.
  * It is also needed after reset, and takes as long as a snapshot.
  */
case class Accounts() extends Component {
  val io = new Bundle {
    val fates    = slave(Stream(Accounts.FrameFate()))
    val clear    = in Bool ()
    val snapshot = in Bool ()
    val busy     = out Bool ()
    // `index` selects the shown account: its port in the upper bits, its fate in the lower two.
    val index   = in UInt (Accounts.Width bits)
    val account = out(Accounts.Account())
  }
  import Accounts.{Account, Entries, Width}

  val accounts = Mem(Account(), Entries)
  val copies   = Mem(Account(), Entries)
  val copy     = copies.readAsync(io.index)
  val shown    = RegNext(copy)
  io.account := shown

  val walk = new Area {
    // Number of accounts that the running snapshot or clear has not visited yet.
    val left   = Reg(UInt(Width + 1 bits)) init 0
    val clears = RegInit(False)
    val active = left =/= 0
    when(active) { left := left - 1 }
    when(!active) { clears := False }
    when(io.clear || io.snapshot) { left := Entries }
    when(io.clear) { clears := True }
    val entry = (left - 1).resize(Width)
  }
  io.busy := walk.active

  // Counting a frame takes two cycles: the account of its port and fate is read, then written.
  val queue  = io.fates.queue(16).m2sPipe()
  val adds   = RegInit(False)
  val entry  = queue.port @@ queue.fate.asBits.asUInt
  val before = accounts.readAsync(walk.active ? walk.entry | entry)
  val sum    = Reg(Account())
  sum.frames := before.frames + 1
  sum.bytes  := before.bytes + queue.bytes
  val begins = queue.valid && !adds && !walk.active && !io.clear && !io.snapshot
  // An event is taken in the cycle in which its account is written, one cycle after its look-up.
  adds        := begins
  queue.ready := adds

  val zero = Account()
  zero.frames := 0
  zero.bytes  := 0
  val clears = walk.active && walk.clears
  accounts.write(
    address = clears ? walk.entry | entry,
    data = clears ? zero | sum,
    enable = adds || clears
  )
  copies.write(walk.entry, clears ? zero | before, walk.active)
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

  case class FrameFate() extends Bundle {
    val fate  = Fate()
    val port  = UInt(Frames.PortWidth bits)
    val bytes = UInt(16 bits) // Length of the frame at its source, in bytes.
  }

  /** The number of frames of one port that had one fate, and the bytes that these frames had at
    * their source.
    */
  case class Account() extends Bundle {
    val frames, bytes = UInt(64 bits)
  }
}
