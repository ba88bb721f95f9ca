// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.vocabulary

import spinal.core._

/** The ways in which a driver can break the rules of VirtIO. After a violation the device does
  * nothing until the driver resets it. Software reads the code in the device's page.
  */
object Violation extends SpinalEnum(binarySequential) {
  val none  = newElement()
  val setup = newElement() // A queue was made ready with a size or an address that is not allowed.
  val index = newElement() // The available index is more than the queue's size ahead.
  val head  = newElement() // A head, the number of a chain's first descriptor, is too large.
  val nextEntry = newElement() // The number of a chain's next descriptor is too large.
  val endless   = newElement() // A chain has more descriptors than the queue.
  val empty     = newElement() // A buffer has no bytes.
  val direction =
    newElement() // A receive queue has a buffer to read, or a transmit queue one to write.
  val indirect = newElement() // An indirect table is nested, empty, or not allowed where it is.
  val read     = newElement() // The host did not answer a read, or answered with an error.
  // A chain that is to be merged with others has fewer bytes than the header in front of a frame.
  val tiny = newElement()
}
