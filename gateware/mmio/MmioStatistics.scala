// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.mmio

import spinal.core._

/** The counters of the MMIO bridge. Reset and `clear` set them to 0. They wrap. */
case class MmioStatistics() extends Bundle {
  // Reads that are inside the bridge now, and the most that were inside at a time.
  val readsNow, readsMax = UInt(6 bits)
  // TLPs of each kind: the host's writes and reads, and the card's completions.
  val writes, reads, completions = UInt(32 bits)
  // `unsupported` and `aborted` count reads of the host by the status of their completion.
  // `timeouts` counts reads and writes that a bus did not answer in time.
  val unsupported, aborted, timeouts = UInt(32 bits)
  // `writesDropped` counts writes that were dropped before they reached a bus, `writesFailed` those
  // that failed on a bus.
  val writesDropped, writesFailed = UInt(32 bits)
  // Dwords of registers that were not written because not all of their bytes were enabled.
  val writesRefused           = UInt(32 bits)
  val lastError               = MmioStatistics.LastError()
  val latencyCount, sizeCount = UInt(32 bits)
}

object MmioStatistics {

  /** The last failed access of the host, as the bridge's error registers show it to software. */
  case class LastError() extends Bundle {
    val kind    = MmioErrorKind()
    val write   = Bool()
    val address = UInt(32 bits) // Byte address, with the meaning that it has in MmioError.
  }
}
