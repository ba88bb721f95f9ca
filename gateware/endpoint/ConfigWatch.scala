// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.endpoint

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.Numbers

/** Reads the Device Control register from the hard block's configuration space every `period`
  * cycles. The register says whether the host has enabled extended tags, which no pin shows.
  */
case class ConfigWatch(period: Int = 256) extends Component {
  require(
    isPow2(period) && period >= 2,
    s"a period of $period cycles: a power of two, at which the timer wraps"
  )

  val io = new Bundle {
    val management = master(ConfigWatch.ConfigManagement())
    // The host has enabled extended tags. Low until the register has been read for the first time.
    val extendedTags = out Bool ()
  }
  val timer   = Reg(UInt(log2Up(period) bits)) init 0
  val reading = RegInit(False)
  val enabled = RegInit(False)

  timer                     := timer + 1
  when(timer === 0)(reading := True)
  when(reading && io.management.done) {
    reading := False
    enabled := io.management.readData(ConfigWatch.ExtendedTagEnable)
  }
  io.management.address := ConfigWatch.DeviceControl
  io.management.read    := reading
  io.extendedTags       := enabled
}

object ConfigWatch {
  // Dword address of Device Control: byte 8 of the PCI Express capability.
  val DeviceControl = (Numbers.ConfigExpress + 8) / 4
  // Number of the bit Extended Tag Field Enable in Device Control (base specification 7.5.3.4).
  val ExtendedTagEnable = 8

  /** The hard block's port for reading its configuration space (PG213, cfg_mgmt). */
  case class ConfigManagement() extends Bundle with IMasterSlave {
    val address  = UInt(10 bits) // Dword address in configuration space.
    val read     = Bool()        // Asks for a read of `address`; stays high until `done`.
    val readData = Bits(32 bits)
    val done     = Bool()

    override def asMaster(): Unit = {
      out(address, read)
      in(readData, done)
    }
  }
}
