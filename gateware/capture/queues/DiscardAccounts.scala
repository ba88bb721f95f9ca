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
  * Each frame is in both accounts or in none, also in a snapshot.
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
  val tally = AccountTable(DiscardAccounts.IndexWidth, twice = true)
  val count = AccountTable.Count(Frames.PortWidth, twice = true)
  count.entry := io.discards.rule
  count.other := io.discards.port
  count.bytes := io.discards.bytes
  tally.io.counts << io.discards.translateWith(count)
  tally.io.clear    := io.clear
  tally.io.snapshot := io.snapshot
  tally.io.index    := io.index
  io.account        := tally.io.account
  io.busy           := tally.io.busy
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
