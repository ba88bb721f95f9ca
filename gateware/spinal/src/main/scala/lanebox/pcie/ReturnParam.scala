// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._

/** The shape of the return path. `clients`: clients that read. `readTags`: reads that may be
  * outstanding. `ringBytes`: bytes of each client that may be outstanding or wait for delivery.
  * `completionPool`: see CompletionCredits.
  *
  * Each client has a ring of its own in the landing memory. A client that does not take its data
  * fills its own ring and no other.
  */
case class ReturnParam(
    clients: Int,
    readTags: Int = 64,
    ringBytes: Int = 65536,
    completionPool: Boolean = false
) {
  val tags = readTags

  /** Beats of a client's ring. */
  val rows = ringBytes / (4 * HardBlock.Dwords)

  /** Reads of a client whose data has not been delivered, at most. */
  val reads = 512

  /** Claims that may be on their way when `room` falls. */
  val ahead = 4

  require(clients >= 1, s"$clients clients: a return path needs one that reads")
  require(
    readTags == 64 || readTags == 256,
    s"$readTags tags: 64 or 256, of which 32 are used without extended tags"
  )

  require(
    isPow2(ringBytes) && ringBytes >= 8192,
    s"$ringBytes bytes for each client: a power of two, and at least 8192"
  )

  def tagWidth: Int    = log2Up(tags)
  def clientWidth: Int = log2Up(clients)
  def rowWidth: Int    = log2Up(rows)
  def dwordWidth: Int  = rowWidth + log2Up(HardBlock.Dwords)
  def orderWidth: Int  = log2Up(reads)

  /** Age, in ticks, at which a read has timed out. A timeout is eight ticks. The first may come
    * right after the issue, so it takes nine to be sure.
    */
  val timeoutTicks = 9

  /** Age, in ticks, at which the tag of a read that timed out becomes free: at most three timeouts
    * after the claim, which are 24 ticks. The walk over all tags needs up to one tick of that where
    * the timeout is shortest.
    */
  val quarantineTicks = 22
}
