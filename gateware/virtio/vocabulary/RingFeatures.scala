// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.vocabulary

import spinal.core._

/** The features that driver and device have agreed on, as far as the rings depend on them. With
  * `choice` the rings may be packed.
  */
case class RingFeatures(choice: Boolean = false) extends Bundle {
  val indirect   = Bool()
  val eventIndex = Bool()
  val merge      = Bool() // A received frame may need several chains (VIRTIO_NET_F_MRG_RXBUF).
  val packed     = choice generate Bool()
}
