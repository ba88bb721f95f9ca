// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._

/** What has come over RC since reset or `clear`; counters wrap. `unsupported` to `cut` count reads
  * that failed, by their first error.
  */
case class ReturnStatistics() extends Bundle {
  val completions  = UInt(32 bits)
  val unsupported  = UInt(32 bits)
  val aborted      = UInt(32 bits)
  val poisoned     = UInt(32 bits)
  val timeouts     = UInt(32 bits)
  val malformed    = UInt(32 bits)
  val cut          = UInt(32 bits)
  val unexpected   = UInt(32 bits) // Completions that no read waits for.
  val late         = UInt(32 bits) // Unexpected ones of a read that timed out.
  val duplicates   = UInt(32 bits) // Unexpected ones under our tags, but not late.
  val backPressure = UInt(32 bits) // Cycles in which RC was held off.
}
