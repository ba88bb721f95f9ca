// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.interrupt

import spinal.core._
import spinal.lib._

/** A port of 32-bit registers with dword addresses. `readData` comes one cycle after `address`. */
case class RegisterPort(addressBits: Int) extends Bundle with IMasterSlave {
  val address   = UInt(addressBits bits)
  val write     = Bool()
  val writeData = Bits(32 bits)
  val readData  = Bits(32 bits)

  override def asMaster(): Unit = {
    out(address, write, writeData)
    in(readData)
  }
}
