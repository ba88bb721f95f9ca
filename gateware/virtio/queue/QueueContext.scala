// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.queue

import spinal.core._

/** Where the driver has put the rings of a queue. `size` is the number of entries, a power of two.
  */
case class QueueContext(sizeWidth: Int) extends Bundle {
  val descriptors = UInt(64 bits) // Address of the descriptor table: a multiple of 16.
  val available   = UInt(64 bits) // Address of the available ring, which the driver writes.
  val used        = UInt(64 bits) // Address of the used ring, which the device writes.
  val size        = UInt(sizeWidth bits)
}
