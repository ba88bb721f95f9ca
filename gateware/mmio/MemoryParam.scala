// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.mmio

import spinal.core._

/** The parameters of a lane memory that the MMIO bridge shows to the host. `latency` is the number
  * of cycles from a read address to its data.
  */
case class MemoryParam(name: String, bytes: BigInt, latency: Int, writable: Boolean) {
  require(
    isPow2(bytes) && bytes >= MmioParam.Page,
    s"memory $name of $bytes bytes: the size must be a power of two, at least a page"
  )
  require(
    latency >= 1 && latency <= 4,
    s"memory $name: a read latency of $latency cycles; it must be 1 to 4"
  )

  val rows     = bytes / MmioParam.RowBytes
  val rowWidth = log2Up(rows)
}
