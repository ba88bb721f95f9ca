// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._

/** The shape of the return path.
  *
  * More slots than tags: data that waits for its client keeps no read from being issued.
  */
case class ReturnParam(clients: Int, readTags: Int = 64, slots: Int = 128) {
  val tags = readTags

  /** Slots that each client gets, whatever the others hold. */
  val reserved = 16

  /** Claims that may be under way between a look at `room` and the claim itself. */
  val ahead = 4

  require(clients >= 1, s"$clients clients: a return path needs one that reads")
  require(readTags == 64, s"$readTags tags: 32 without extended tags, and as many again with them")
  require(
    isPow2(slots) && slots >= readTags,
    s"$slots slots: a power of two, and no fewer than the $readTags tags"
  )
  require(
    clients * (reserved + ahead) <= slots,
    s"$clients clients with $reserved slots each and $ahead ahead do not fit $slots slots"
  )

  def tagWidth: Int    = log2Up(tags)
  def slotWidth: Int   = log2Up(slots)
  def clientWidth: Int = log2Up(clients)
  def rows: Int        = slots * LandingSlot.Beats

  /** A timeout is eight ticks; a stamp may be a tick young, so the ninth is the first to count. */
  val timeoutTicks = 9

  /** At this age the tag of a read that timed out is free again: three timeouts are 24 ticks, and
    * the walk over all tags needs one of them where timeouts are shortest.
    */
  val quarantineTicks = 22
}
