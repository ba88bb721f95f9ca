// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rc

import spinal.core._

import lanebox.vocabulary.{HardBlock, Numbers}

/** The parameters of the return path, which takes completions from RC to the clients. `clients` is
  * the number of clients that read. `readTags` is the number of reads that may be outstanding.
  * `ringBytes` is the number of bytes of each client that may be outstanding or wait for delivery.
  * With `completionPool` headers and data share one pool of completion space (CompletionCredits).
  *
  * Each client has a ring of its own in the landing memory. A client that does not take its data
  * fills its own ring and no other.
  */
case class ReturnParam(
    clients: Int,
    readTags: Int = 64,
    ringBytes: Int = Numbers.LandingSize,
    completionPool: Boolean = false
) {
  val tags = readTags

  /** The rows of a client's ring in the landing memory. Each row holds one beat of 32 bytes. */
  val rows = ringBytes / HardBlock.BeatBytes

  /** The most reads of one client that may be outstanding or wait for delivery. */
  val reads = 512

  /** The most reads that may still be claimed for a client after its `room` has fallen, because
    * they were on their way to the claim already.
    */
  val ahead = 4

  require(clients >= 1, s"$clients clients: a return path needs one that reads")
  require(
    readTags == 64 || readTags == Numbers.ReadTags,
    s"$readTags tags: 64 or ${Numbers.ReadTags}, of which ${Numbers.ShortReadTags} are used " +
      "without extended tags"
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

  /** The age, in ticks, at which a read has timed out. The timeout is eight ticks long. The first
    * tick may come right after the read was issued, so only nine ticks are surely a whole timeout.
    */
  val timeoutTicks = 9

  /** The age, in ticks of ReadClock, at which the tag of a read that timed out becomes free. The
    * tag must be free at the latest three timeouts after the claim, which are 24 ticks. ReadClock
    * probes one tag after the other. With the shortest timeout a round over all tags takes up to
    * one tick.
    */
  val quarantineTicks = 22
}
