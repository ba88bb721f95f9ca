// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.accounts

import spinal.core._
import spinal.lib._

/** A table of 2^`width` accounts, each of which counts frames and their bytes.
  *
  * `snapshot` copies all accounts as they are at one moment, and `account` shows entry `index` of
  * the copy a cycle later. While the copy is made, counts wait in a queue, and frames wait if the
  * queue is full. `clear` sets all accounts to zero, also those of the copy. It is also needed
  * after reset, and takes twice as long as a snapshot.
  *
  * A large table is in block RAM, which gives an entry a cycle later than LUTRAM. A snapshot of it
  * takes longer, and the queue has room for a count in every second cycle of it. So no frame waits
  * for a snapshot: a frame comes in every third cycle at the most.
  *
  * With `twice` each frame is counted in account `entry` of the lower half of the table, and in
  * account `other` of the upper half. Both or none are in a snapshot. Such a table is small.
  */
case class AccountTable(width: Int, twice: Boolean = false) extends Component {
  val io = new Bundle {
    val counts   = slave(Stream(AccountTable.Count(if (twice) width - 1 else width, twice)))
    val clear    = in Bool ()
    val snapshot = in Bool ()
    val busy     = out Bool ()
    val index    = in UInt (width bits)
    val account  = out(AccountTable.Account())
  }
  import AccountTable._
  val entries = 1 << width
  val large   = width > LutramWidth
  require(!(twice && large), s"a table of $entries accounts is too large to count a frame twice")

  val accounts = Mem(Account(), entries)
  val copies   = Mem(Account(), entries)
  if (large) for (memory <- Seq(accounts, copies)) memory.addAttribute("ram_style", "block")
  val shown = if (large) copies.readSync(io.index) else RegNext(copies.readAsync(io.index))
  io.account := shown

  // A frame's account is read, then written: in two cycles, or in three in a large table.
  val queue = io.counts.queue(if (large) entries / 2 else 16).m2sPipe()
  val adds  = RegInit(False)
  // The account of the lower half is done, and that of the upper half follows.
  val half  = if (twice) RegInit(False) else False
  val entry = if (twice) half ## (half ? queue.other | queue.entry) else queue.entry.asBits
  val goal  = if (twice) RegNext(entry.asUInt) else queue.entry

  val walk = new Area {
    // Number of accounts that the running snapshot or clear has not visited yet. A clear visits all
    // of them twice: they become zero, and then they are copied.
    val left   = Reg(UInt(width + 2 bits)) init 0
    val next   = left - 1
    val active = left =/= 0
    val clears = active && next(width)
    // A frame may still be on the way to its account in a large table, or to its second account,
    // when a snapshot or clear begins. The walk over all accounts waits until it is counted,
    // so the copy includes the frame.
    val steps = if (large || twice) active && !adds && !half else active
    when(steps) { left := next }
    when(io.snapshot && !clears) { left := entries } // A clear ends with a copy anyway.
    when(io.clear) { left := 2 * entries }
    val entry = next.resize(width)
  }
  // The entry that the walk over all accounts has just read for the copy. Block RAM, which a large
  // table uses, gives the entry a cycle late.
  val visited = new Area {
    val copies = walk.steps && !walk.clears
    val valid  = if (large) RegNext(copies) init False else copies
    val entry  = if (large) RegNext(walk.entry) else walk.entry
  }
  io.busy := walk.active || visited.valid

  val visits  = if (twice) walk.steps else walk.active
  val address = visits ? walk.entry | entry.asUInt
  val before  = if (large) accounts.readSync(address) else accounts.readAsync(address)
  val sum     = Reg(Account())
  sum.frames := before.frames + 1
  sum.bytes  := before.bytes + queue.bytes
  // `sum` is cleared, and not the data at the memory's input: the reset of a register costs no LUT.
  when(io.clear || walk.clears) {
    sum.frames := 0
    sum.bytes  := 0
  }
  val reads  = large generate RegInit(False)
  val free   = if (large) !adds && !reads else if (twice) True else !adds
  val stays  = !walk.active && !io.clear && !io.snapshot
  val begins = queue.valid && free && (half || stays)
  if (large) reads := begins
  if (twice) when(begins) { half := !half }
  // No stream operator fits: a count is taken in the cycle in which its account is written. With
  // `twice` it is taken a cycle earlier, since accounts that follow each other are in other halves.
  adds        := (if (large) reads else begins)
  queue.ready := (if (twice) begins && half else adds)

  val clears = walk.steps && walk.clears
  accounts.write(
    address = clears ? walk.entry | goal,
    data = sum,
    enable = adds || clears
  )
  copies.write(visited.entry, before, visited.valid)
}

object AccountTable {

  /** The largest table in LUTRAM has 2 to this power of accounts: those of one queue. */
  val LutramWidth = 6

  /** A frame that is counted in the account `entry`, and maybe in the account `other`. */
  case class Count(width: Int, twice: Boolean = false) extends Bundle {
    val entry = UInt(width bits)
    val other = twice generate UInt(width bits)
    val bytes = UInt(16 bits) // Length of the frame at its source, in bytes.
  }

  /** A number of frames, and the bytes that these frames had at their source. */
  case class Account() extends Bundle {
    val frames, bytes = UInt(64 bits)
  }
}
