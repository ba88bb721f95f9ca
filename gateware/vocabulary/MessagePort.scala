// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.vocabulary

import spinal.core._
import spinal.lib._

/** The port from MsixTable to the request path, on which MSI-X messages go to RQ. A message can be
  * withdrawn as long as it is not offered at RQ's pins.
  *
  * `offer.valid` may fall before the request path has taken the offer. After it has taken a
  * message, the payload of `offer` must not change until `shown` or `dropped` comes. Only then does
  * the request path take the next message. `withdraw` drops a message that is not at RQ's pins yet.
  * It must stay set until `shown` (the message is at the pins) or `dropped` comes.
  */
case class MessagePort() extends Bundle with IMasterSlave {
  val offer    = Stream(MessagePort.Message())
  val withdraw = Bool()
  // Each message taken gets a pulse, a cycle late: `shown` at RQ's pins, `dropped` if withdrawn.
  val shown, dropped = Bool()

  override def asMaster(): Unit = {
    master(offer)
    out(withdraw)
    in(shown, dropped)
  }
}

object MessagePort {

  /** An MSI-X message, which is a write of one dword to the host. */
  case class Message() extends Bundle {
    val address = UInt(64 bits) // Byte address of the write, dword aligned.
    val data    = Bits(32 bits)
  }
}
