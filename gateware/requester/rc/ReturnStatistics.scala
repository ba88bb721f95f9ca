// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rc

import spinal.core._

/** Counters of the card's reads and their completions since reset or `clear`. They wrap. The
  * counters from `unsupported` to `cut` count reads that failed, each read by its first error.
  */
case class ReturnStatistics() extends Bundle {
  val unsupported  = UInt(32 bits)
  val aborted      = UInt(32 bits)
  val poisoned     = UInt(32 bits)
  val timeouts     = UInt(32 bits)
  val malformed    = UInt(32 bits)
  val cut          = UInt(32 bits)
  val unexpected   = UInt(32 bits) // Completions that no read waits for.
  val late         = UInt(32 bits) // Unexpected completions of a read that has timed out.
  val duplicates   = UInt(32 bits) // Unexpected completions with a tag of the card, but not late.
  val backPressure = UInt(32 bits) // Cycles in which RC offered a beat that was not taken.
}
