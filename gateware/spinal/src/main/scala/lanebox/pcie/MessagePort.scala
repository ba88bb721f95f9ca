// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** An MSI-X message: a write of one dword. */
case class Message() extends Bundle {
  val address = UInt(64 bits) // Dword aligned.
  val data    = Bits(32 bits)
}

/** The way of a message to RQ. A message can be taken back until RQ has been shown it.
  *
  * `offer.valid` may fall before the offer is taken. A message that was taken keeps its payload
  * until `shown` or `dropped` comes; only then the next one is taken. `withdraw` drops a message
  * that RQ has not been shown yet. It must stay set until `shown` or `dropped` comes.
  */
case class MessagePort() extends Bundle with IMasterSlave {
  val offer          = Stream(Message())
  val withdraw       = Bool()
  val shown, dropped = Bool() // One pulse for each message that was taken, a cycle late.

  override def asMaster(): Unit = {
    master(offer)
    out(withdraw)
    in(shown, dropped)
  }
}
