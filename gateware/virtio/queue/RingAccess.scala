// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.queue

import spinal.core._

/** The reads and writes of the rings that QueueRunner itself makes. */
object RingAccess {

  /** The reads of host memory that QueueRunner makes. The answer of `flush` only shows that earlier
    * writes have arrived.
    */
  object Task extends SpinalEnum {
    val index, descriptor, eventIndex, flush = newElement()
  }

  /** Returns how many bytes a task reads. */
  def bytes(task: Task.C): UInt = task.mux(
    Task.descriptor -> U(16, 5 bits),
    Task.eventIndex -> U(2, 5 bits),
    default         -> U(4, 5 bits)
  )

  /** Returns the same for a packed ring, whose event structure has 4 bytes. */
  def packedBytes(task: Task.C): UInt =
    (task === Task.descriptor) ? U(16, 5 bits) | U(4, 5 bits)

  /** The writes that QueueRunner makes to the used ring: an element, the used index, or the index
    * for notifications.
    */
  object Put extends SpinalEnum {
    val element, count, eventIndex = newElement()
  }
}
