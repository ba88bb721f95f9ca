// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.vocabulary

import spinal.core._

/** A mover's report that it is done with a buffer. */
case class Moved(frameWidth: Int) extends Bundle {
  val bytes  = UInt(frameWidth bits) // Bytes that were written to a receive buffer.
  val ended  = Bool()                // The frame that is received has ended in this buffer.
  val failed = Bool()                // The host has not given all data of a transmit buffer.
}
