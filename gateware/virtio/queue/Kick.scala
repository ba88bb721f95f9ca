// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.queue

import spinal.core._

/** The driver's notification that a queue of one direction has new buffers: that of the pair whose
  * bit is set in `pairs`. No bit is set while there is no notification. With `hinted` it brings the
  * available index along (the feature NOTIFICATION_DATA).
  */
case class Kick(count: Int) extends Bundle {
  val pairs  = Bits(count bits)
  val hinted = Bool()
  val index  = UInt(16 bits)
}
