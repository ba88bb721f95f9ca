// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._

/** What has come over RC since reset or `clear`; counters wrap. */
case class ReturnStatistics() extends Bundle {
  val completions  = UInt(32 bits)
  val unsupported  = UInt(32 bits) // Reads that failed, by their first error.
  val aborted      = UInt(32 bits)
  val poisoned     = UInt(32 bits)
  val timeouts     = UInt(32 bits)
  val malformed    = UInt(32 bits)
  val cut          = UInt(32 bits)
  val unexpected   = UInt(32 bits) // Completions that no read waits for;
  val late         = UInt(32 bits) // of these, after their read's timeout,
  val duplicates   = UInt(32 bits) // and with a tag that we use, but not for a late one.
  val backPressure = UInt(32 bits) // Cycles in which a beat was not taken.
}
