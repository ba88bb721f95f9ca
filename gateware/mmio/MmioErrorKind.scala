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
  val partial  = newElement() // A write of only part of a Wishbone dword. It is not done.
}
