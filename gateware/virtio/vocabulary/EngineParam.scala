// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.vocabulary

/** The parameters of the engine that serves the queues of all `devices` of a card. The engine
  * numbers the pairs of queues of the devices one behind the other.
  */
case class EngineParam(devices: Seq[VirtioParam]) {
  require(devices.nonEmpty, "an engine without devices: it serves one at least")
  for (
    (name, values) <- Seq(
      "sizes of a queue"        -> devices.map(_.queueSize),
      "rows of the frame store" -> devices.map(_.rows),
      "cycles of patience"      -> devices.map(_.patience),
      "choices of packed rings" -> devices.map(_.packed)
    )
  ) require(values.distinct.size == 1, s"$name ${values.mkString(", ")}: one for all devices")

  private def first   = devices.head
  def queueSize: Int  = first.queueSize
  def rows: Int       = first.rows
  def patience: Int   = first.patience
  def sizeWidth: Int  = first.sizeWidth
  def packed: Boolean = first.packed
  // Width of what the driver calls a chain: the number of its first descriptor, or any ID.
  def headWidth: Int = if (packed) 16 else sizeWidth - 1
  // Width of the available index that is known. In a split ring it is at most the queue's size ahead
  // of the chains that were taken, so the lowest bits suffice.
  def knownWidth: Int = if (packed) 16 else sizeWidth
  def rowWidth: Int   = first.rowWidth
  def frameWidth: Int = first.frameWidth
  def largest: Int    = devices.map(_.largest).max

  /** The number of the device that each pair belongs to. */
  val owners: Seq[Int] = devices.zipWithIndex.flatMap { case (d, n) => Seq.fill(d.pairs)(n) }
  val pairs: Int       = owners.size
  def pairWidth: Int   = spinal.core.log2Up(pairs) max 1

  /** Returns the first pair of a device. */
  def firstPair(device: Int): Int = owners.indexOf(device)

  /** The pairs whose device may merge chains for a received frame. */
  def merging: Seq[Int] = owners.indices.filter(pair => devices(owners(pair)).merges)

  /** A bit for each pair: its device receives whole frames. A frame that is longer than the chain
    * is lost if chains are not merged. The other devices go on with it in the next chain.
    */
  def whole: BigInt = owners.zipWithIndex.map { case (device, pair) =>
    if (devices(device).frames) BigInt(1) << pair else BigInt(0)
  }.sum
}
