// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.steering

import spinal.core._
import spinal.lib._

import lanebox.virtio.vocabulary.FarPort

/** Offers the oldest received frame to the pair of queues to which it goes. Both pairs of a net
  * device have one frame store, so frames leave it in the order in which they came.
  *
  * `toSecond` says that the frame that is offered in the next cycle goes to the second pair, if
  * `both` pairs are active and the driver runs the queue. When a pair has taken a chain for the
  * frame, the frame stays with it (`begun`: with the second pair), unless the driver stops the
  * queue.
  */
case class PairChoice(
    frame: Stream[UInt],
    toSecond: Bool,
    both: Bool,
    clear: Bool,
    pairs: Seq[FarPort]
) extends Area {
  val takes = Vec(pairs.map(_.takes)).asBits
  val kept  = Reg(Bits(2 bits)) init 0 // Bit n: pair n has taken a chain for the frame.
  val keeps = (kept | takes).andMask(!frame.fire && !clear) & Vec(pairs.map(_.live)).asBits
  kept := keeps
  val begun = kept(1)
  // A register, since the path from the choice through the runner is deep.
  val second = RegNext(keeps(1) || (toSecond && both && pairs(1).live && !keeps(0))) init False
  // No stream operator fits: until a pair has taken a chain for it, an offered frame goes over to
  // the other pair when the driver starts or stops a queue. A stream never takes an offer back.
  for ((pair, n) <- pairs.zipWithIndex) {
    pair.frame.valid   := frame.valid && second === Bool(n == 1)
    pair.frame.payload := frame.payload
  }
  frame.ready := second ? pairs(1).frame.ready | pairs(0).frame.ready
}
