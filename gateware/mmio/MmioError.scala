// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.mmio

import spinal.core._

/** Reports that accesses of the host have failed. The report comes a cycle after the failure. */
case class MmioError() extends Bundle {
  val kind  = MmioErrorKind()
  val write = Bool()
  val count = UInt(6 bits)
  // Byte address. With busError, timeout and partial it is the address in the target, with the
  // other kinds the offset in the BAR.
  val address = UInt(32 bits)
}
