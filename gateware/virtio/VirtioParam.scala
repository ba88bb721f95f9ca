// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import spinal.core._

import lanebox.vocabulary.{HardBlock, Numbers}

/** The parameters of a virtio device with `pairs` pairs of queues. Queue 2i is receive queue i (card
  * to host), and queue 2i + 1 is transmit queue i (host to card).
  *
  * `id` is the device's virtio device ID. `features` has the offered feature bits. `config` has the
  * 32-bit words of the device's configuration space. `rows` is the number of rows of 32 bytes in the
  * frame store. `patience` is the most cycles for which a used entry may wait until the device
  * decides about its interrupt, while more chains follow.
  */
case class VirtioParam(
    id: Int,
    features: BigInt,
    config: Seq[BigInt],
    pairs: Int = 1,
    queueSize: Int = Numbers.VirtioQueueSize,
    rows: Int = Numbers.VirtioStoreRows,
    patience: Int = Numbers.VirtioPatience
) {
  require(pairs >= 1 && pairs <= 4, s"$pairs pairs of queues: a device has 1 to 4")
  require(
    isPow2(queueSize) && queueSize >= 2 && queueSize <= 32768,
    s"a queue of $queueSize entries: a split ring has a power of two, 2 to 32768 (VirtIO 1.2, 2.7)"
  )
  require(
    isPow2(rows) && rows >= 128,
    s"$rows rows in the frame store: a power of two, 128 or more, which all reads in flight need"
  )
  require(
    (features & VirtioParam.Required) == VirtioParam.Required,
    f"features 0x$features%x: the bits 0x${VirtioParam.Required}%x must be offered"
  )
  require(patience >= 16, s"a patience of $patience cycles: at least 16")

  def queues: Int    = 2 * pairs
  def pairWidth: Int = log2Up(pairs) max 1
  def sizeWidth: Int = log2Up(queueSize) + 1
  def rowWidth: Int  = log2Up(rows)
  def frameWidth: Int =
    log2Up(rows * HardBlock.BeatBytes) + 1 // Width of a frame's length in bytes.
}

/** Numbers of VirtIO 1.2 and of this implementation. */
object VirtioParam {
  // Feature bits (VirtIO 1.2, 6).
  val Indirect         = 28
  val EventIndex       = 29
  val Version1         = 32
  val AccessPlatform   = 33
  val OrderPlatform    = 36
  val NotificationData = 38

  /** A driver that does not accept these features is refused. */
  val Required = BigInt(1) << Version1

  /** What every device here offers. */
  val Transport = Seq(
    Indirect,
    EventIndex,
    Version1,
    AccessPlatform,
    OrderPlatform,
    NotificationData
  ).map(BigInt(1) << _).reduce(_ | _)

  // Offsets in the rings (VirtIO 1.2, 2.7).
  val RingHead = 4 // Bytes of flags and index, in front of a ring's entries.

  /** The most bytes that one request for a buffer's data has. A request ends at a multiple of this
    * in host memory.
    */
  val ChunkBytes = 256
  val ChunkBeats = ChunkBytes / HardBlock.BeatBytes

  /** A console of one port (VirtIO 1.2, 5.3) with 80 columns and 25 rows. */
  def console: VirtioParam = VirtioParam(
    id = 3,
    features = Transport | 1, // Bit 0, SIZE: `config` has columns and rows.
    config = Seq(BigInt(25 << 16 | 80), BigInt(1))
  )
}
