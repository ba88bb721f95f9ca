// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.mmio

import spinal.core._

/** The reasons for which an access of the host to the card fails. */
object MmioErrorKind extends SpinalEnum(binarySequential) {
  val none          = newElement()
  val unmappedRead  = newElement() // A read outside all windows. Status: Unsupported Request.
  val unmappedWrite = newElement() // A write outside all windows. It is dropped.
  // A write to a memory that is read only. It is dropped.
  val readOnly = newElement()
  val busError = newElement() // The bus reported an error. A read ends with Completer Abort.
  val timeout  = newElement() // The bus did not answer. A read ends with Completer Abort.
  val held     = newElement() // A write that was dropped, since the AXI bus took none for too long.
  val partial  = newElement() // A write of only some bytes of a Wishbone dword. It is not done.
}

/** Reports that accesses of the host have failed. The report comes a cycle after the failure. */
case class MmioError() extends Bundle {
  val kind  = MmioErrorKind()
  val write = Bool()
  val count = UInt(6 bits) // How many requests failed with this error.
  // Byte address. With busError, timeout and partial it is the address in the target, with the
  // other kinds the offset in the BAR.
  val address = UInt(32 bits)
}

/** The last failed access of the host, as the bridge's error registers show it to software. */
case class MmioLastError() extends Bundle {
  val kind    = MmioErrorKind()
  val write   = Bool()
  val address = UInt(32 bits) // Byte address, with the meaning that it has in MmioError.
}
