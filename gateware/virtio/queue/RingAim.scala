// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.queue

import spinal.core._

import lanebox.virtio.vocabulary.VirtioParam

/** Computes the address of what the runner reads or writes next, in two cycles.
  *
  * `context` has the rings, and `table` the indirect table. `address` is valid while `ready` is
  * high, until the next call of `apply` or `element`.
  */
case class RingAim(context: QueueContext, packed: Option[Bool] = None) extends Area {
  import RingAim.Ring
  import VirtioParam.RingHead

  val ring   = Reg(Ring())
  val offset = Reg(UInt(21 bits))
  val table  = Reg(UInt(64 bits)) // Address of the indirect table.
  val base = ring.mux(
    Ring.descriptors -> context.descriptors,
    Ring.available   -> context.available,
    Ring.used        -> context.used,
    Ring.indirect    -> table
  )
  val next = Reg(UInt(16 bits)) // The used index behind the element that was aimed at last.
  // The used index behind the element that was written last. It belongs to the rings in `context`,
  // even if the queue has been made anew meanwhile and its own used index begins with 0.
  val index   = Reg(UInt(16 bits))
  val address = RegNext(base + offset)
  val ready   = RegNext(True) init False
  // Of a packed ring: the wrap counter of the element that was aimed at last.
  val wrap = packed.map(_ => Reg(Bool()))

  /** Aims at the byte `by` of a ring. */
  def apply(at: Ring.E, by: UInt): Unit = {
    ring   := at
    offset := by.resized
    ready  := False
  }

  /** Aims at the used element number `slot`, of 16 bits: modulo the queue's size, behind the head
    * of the used ring, or in the upper half of a descriptor of a packed ring.
    */
  def element(slot: UInt): Unit = {
    val mask = (context.size - 1).resize(widthOf(context.size) - 1)
    next := slot + 1
    val place = slot.resize(widthOf(mask)) & mask
    apply(Ring.used, (place @@ U"000") +^ U(RingHead, 4 bits))
    for (is  <- packed) when(is)(apply(Ring.descriptors, place @@ U"1000"))
    for (bit <- wrap) bit := PackedRing.wrap(slot, context.size)
  }
}

object RingAim {

  /** The tables and rings: an address is an offset from the start of one of them. */
  object Ring extends SpinalEnum {
    val descriptors, available, used, indirect = newElement()
  }
}
