// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.mmio

import spinal.core._

/** A read by the host that MmioBridge hands to a slow target: the Wishbone or the AXI4 bus. */
case class TargetRead() extends Bundle {
  val readNumber      = UInt(MmioParam.ReadNumberWidth bits)
  val address         = UInt(30 bits) // Dword address of the read in the target.
  val left            = UInt(10 bits) // Dwords to read, less one.
  val firstBe, lastBe = Bits(4 bits)
}
