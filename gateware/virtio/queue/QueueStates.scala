// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.queue

import spinal.core._

import lanebox.virtio.vocabulary.EngineParam

/** The state that the runner of one direction keeps of each of its queues. Indices are 16 bits
  * wide, as in the rings, and wrap.
  */
case class QueueStates(p: EngineParam) extends Area {
  private def every[T <: Data](kind: HardType[T]): Vec[T] = Vec(Reg(kind()), p.pairs)

  val taken = every(UInt(16 bits)) // Chains that were taken: the device's available index.
  // The lowest bits of the available index as far as the device knows it.
  val known  = every(UInt(p.knownWidth bits))
  val used   = every(UInt(16 bits)) // The used index.
  val told   = every(UInt(16 bits)) // The used index at the last decision about an interrupt.
  val hint   = every(UInt(16 bits)) // The available index that came with a notification.
  val hinted = Reg(Bits(p.pairs bits)) init 0
  val kicked = Reg(Bits(p.pairs bits)) init 0
  val eager = Reg(Bits(p.pairs bits)) init 0 // The driver wanted to know of the last used entry.
  // Chains that hold the beginning of a frame. Their elements are written behind the used index.
  val pending = every(UInt(p.sizeWidth bits))
  // Of a packed ring: the descriptors of those chains, and the first one's element.
  val span = p.packed generate every(UInt(p.sizeWidth bits))
  val held = p.packed generate every(Bits(16 + p.frameWidth bits))
  // `empty` is a comparison of indices, and a cycle old, since the choice of the runner's next
  // state is deep. Logic that moves `known` ahead clears it in the same cycle. If it rises a cycle
  // late, that is harmless: a chain begins only if HeadReader has a head for it.
  val empty   = Reg(Bits(p.pairs bits)) // All chains that are known were taken.
  val untold  = Reg(Bits(p.pairs bits)) // Entries were used since the last decision.
  val waiting = ~empty
  for (n <- 0 until p.pairs) {
    empty(n) := taken(n).resize(p.knownWidth) === known(n)
  }

  /** Resets the state of queue `n`, which is not live. `kicked` makes the runner serve the queue
    * once without a notification when it becomes live.
    */
  def begin(n: Int): Unit = {
    Seq(taken, known, used, told).foreach(_(n) := 0)
    pending(n)            := 0
    if (p.packed) span(n) := 0
    empty(n)              := True
    untold(n)             := False
    kicked(n)             := True
    hinted(n)             := False
    eager(n)              := False
  }
}
