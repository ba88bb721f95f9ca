// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.vocabulary

import spinal.core._

/** A buffer of the driver: what a descriptor describes. Any address, and 1 byte to 4 GiB. */
case class HostBuffer() extends Bundle {
  val address = UInt(64 bits)
  val bytes   = UInt(32 bits)

  /** Returns how many of the next `most` bytes one request may have: no more than up to the next
    * multiple of ChunkBytes.
    */
  def chunk(most: UInt): UInt = {
    import VirtioParam.ChunkBytes
    val room = U(ChunkBytes, 9 bits) - address(log2Up(ChunkBytes) - 1 downto 0)
    (most < room) ? most.resize(9) | room
  }
}
