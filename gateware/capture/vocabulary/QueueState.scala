// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.vocabulary

import spinal.core._

/** State that each queue has for itself, of which one queue's part is used at a time: a register if
  * there is one queue, and LUTRAM if there are several.
  *
  * `now` is the state of the queue `at`. While `writes` is high it becomes `next`. `next` is the
  * same as `now` unless the user of QueueState assigns something else. `walk` gives all queues the
  * state `begin`. A register is 0 at reset.
  *
  * With `late` LUTRAM is written a cycle later. Then `begin` costs no LUT, since the register in
  * front of the LUTRAM is set to it.
  */
class QueueState[T <: Data](
    kind: HardType[T],
    at: UInt,
    writes: Bool,
    walk: QueueState.Walk,
    late: Boolean,
    begin: UInt => T
) extends Area {
  val several = at.getWidth > 0
  val next    = kind()
  val memory  = several generate Mem(kind(), 1 << at.getWidth)
  val now     = if (several) memory.readAsync(at) else register()
  next := now
  next.allowOverride()

  if (several) {
    memory.addAttribute("ram_style", "distributed")
    val address = walk.active ? walk.queue | at
    val data    = walk.active ? begin(walk.queue) | next
    val enable  = walk.active || writes
    if (late) memory.write(RegNext(address), RegNext(data), RegNext(enable) init False)
    else memory.write(address, data, enable)
  }

  private def register(): T = {
    val state = Reg(kind())
    for (part <- state.flatten) part match {
      case flag: Bool => flag init False
      case word: UInt => word init 0
      case word: Bits => word init 0
    }
    when(writes) { state := next }
    when(walk.active) { state := begin(walk.queue) }
    state
  }

  /** Returns the state of any queue, not only of the one that is being changed. */
  def of(queue: UInt): T = if (several) memory.readAsync(queue) else now
}

object QueueState {
  def apply[T <: Data](
      kind: HardType[T],
      at: UInt,
      writes: Bool,
      walk: Walk,
      late: Boolean = false
  )(begin: UInt => T): QueueState[T] = new QueueState(kind, at, writes, walk, late, begin)

  /** Returns a `begin` that gives every queue a state of zeros. Most states begin so. */
  def zero[T <: Data](kind: HardType[T]): UInt => T = _ => {
    val value = kind()
    value.assignFromBits(B(0, widthOf(value) bits))
    value
  }

  /** Visits all queues, one in each cycle, when `starts` is high. Memories have no reset, so a walk
    * over several queues begins at reset, too. A single queue needs one cycle, and none at reset.
    */
  class Walk(queueWidth: Int, starts: Bool, none: Boolean) extends Area {
    val several = queueWidth > 0 && !none
    val left    = several generate (Reg(UInt(queueWidth + 1 bits)) init 1 << queueWidth)
    val active  = if (several) left =/= 0 else starts
    // Queue 0 comes first, since it has the first turn after a reset.
    val queue = if (several) (~(left - 1)).resize(queueWidth) else U(0, queueWidth bits)
    if (several) {
      when(active) { left := left - 1 }
      when(starts) { left := 1 << queueWidth }
    }
  }
  object Walk {
    def apply(queueWidth: Int, starts: Bool): Walk = new Walk(queueWidth, starts, none = false)

    /** No walk, for a state that is not read before it was written. */
    def none(queueWidth: Int): Walk = new Walk(queueWidth, False, none = true)
  }
}
