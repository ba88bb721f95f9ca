// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.mmio

import spinal.core._

import lanebox.vocabulary.HardBlock

/** A beat of a write by the host that MmioBridge hands to a slow target (Wishbone or AXI4). The
  * dword with address a is in lane a mod 8.
  *
  * `mask` has a bit for each byte of the beat. The bit is set if the byte is written. It is 0 for a
  * byte that is not enabled or is beyond the end of the payload.
  */
case class TargetWrite() extends Bundle {
  val address = UInt(30 bits) // Dword address in the target of the beat's first dword.
  val data    = Bits(HardBlock.DataWidth bits)
  val mask    = Bits(HardBlock.BeatBytes bits)
  val first   = Bool()
  val last    = Bool()
  val rows    = UInt(6 bits)  // Valid with the first beat: rows of 32 bytes that the write touches.
  // Valid with the last beat: the write reaches into the row of 32 bytes behind that beat's row.
  val spills = Bool()
}
