// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.queue

import spinal.core._

/** Compares 16-bit indices of the queue that is being served, which has `size` entries. All results
  * are a cycle behind the indices.
  *
  * `taken` and `known` are the device's indices. `answer` is the available index that was read, and
  * `hint` is the one that came with a notification, if `hinted` says that one came. If the ring is
  * `packed`, `hint` is a place in the ring.
  *
  * `known` may have only as many bits as `size`. Then `further` is of use only without `tooFar`, and
  * `hintAdds` only with `hintFits`.
  */
case class IndexComparison(
    size: UInt,
    taken: UInt,
    known: UInt,
    answer: UInt,
    hint: UInt,
    hinted: Bool,
    packed: Option[Bool] = None
) extends Area {
  val ahead      = answer - taken
  val width      = widthOf(known)
  val knownAhead = known - taken.resize(width)
  val tooFar     = RegNext(ahead > size)
  val further    = RegNext(ahead.resize(width) > knownAhead)
  val hintAhead =
    packed.fold(hint - taken)(_ ? PackedRing.ahead(hint, taken, size) | (hint - taken))
  // The hint that the results below are about.
  val hintIndex = RegNext(packed.fold(hint)(_ => taken + hintAhead))
  val hintFits  = RegNext(hinted && hintAhead =/= 0 && hintAhead <= size)
  val hintAdds  = RegNext(hintAhead.resize(width) > knownAhead)
}
