// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.queues

import spinal.core._
import spinal.lib._

import lanebox.capture.accounts.AccountTable
import lanebox.vocabulary.Frames

/** Counts the frames that rules discard, once by rule and once by the frame's port.
  *
  * Both tables count the same frames, and a snapshot copies them at the same moment.
  */
case class DiscardAccounts() extends Component {
  val io = new Bundle {
    val discards = slave(Stream(DiscardAccounts.Discard()))
    val clear    = in Bool ()
    val snapshot = in Bool ()
    val busy     = out Bool ()
    // The account that is shown: 0 to 15 is that of a rule, and 16 to 31 that of a port.
    val index   = in UInt (DiscardAccounts.IndexWidth bits)
    val account = out(AccountTable.Account())
  }
  val (toRules, toPorts) = StreamFork2(io.discards)
  val rules              = table(toRules, toRules.rule)
  val ports              = table(toPorts, toPorts.port)
  val shown              = RegNext(io.index.msb)
  io.account := shown ? ports.io.account | rules.io.account
  io.busy    := rules.io.busy || ports.io.busy

  private def table(discards: Stream[DiscardAccounts.Discard], entry: UInt): AccountTable = {
    val table = AccountTable(entry.getWidth)
    val count = AccountTable.Count(entry.getWidth)
    count.entry := entry
    count.bytes := discards.bytes
    table.io.counts << discards.translateWith(count)
    table.io.clear    := io.clear
    table.io.snapshot := io.snapshot
    table.io.index    := io.index.resized
    table
  }
}

object DiscardAccounts {
  val IndexWidth = 1 + Frames.PortWidth

  /** A frame that a rule discards. */
  case class Discard() extends Bundle {
    val rule  = UInt(log2Up(RuleTable.Rules) bits)
    val port  = UInt(Frames.PortWidth bits)
    val bytes = UInt(16 bits) // Length of the frame at its source, in bytes.
  }
}
