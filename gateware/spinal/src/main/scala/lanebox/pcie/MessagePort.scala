// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** A message of MSI-X: a write of one dword. */
case class Message() extends Bundle {
  val address = UInt(64 bits) // Dword aligned.
  val data    = Bits(32 bits)
}

/** The way of a message to RQ, which can be taken back until RQ is shown it.
  *
  * `offer` may fall before it is taken. What was taken keeps its payload until `shown` or `dropped`
  * comes, and the next message waits for that. `withdraw` drops a message that RQ has not been
  * shown; it stays until the answer has come.
  */
case class MessagePort() extends Bundle with IMasterSlave {
  val offer          = Stream(Message())
  val withdraw       = Bool()
  val shown, dropped = Bool() // Pulses, a cycle late: one of them for each message that was taken.

  override def asMaster(): Unit = {
    master(offer)
    out(withdraw)
    in(shown, dropped)
  }
}
