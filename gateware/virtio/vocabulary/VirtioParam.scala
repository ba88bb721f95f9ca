// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.vocabulary

import spinal.core._

import lanebox.vocabulary.{HardBlock, Numbers}

/** The parameters of a virtio device with `pairs` pairs of queues. Queue 2i is receive queue i
  * (card to host), and queue 2i + 1 is transmit queue i (host to card). With `control` there is a
  * control queue behind them, by which the driver activates the second pair of a net device.
  *
  * `id` is the device's virtio device ID. `features` has the offered feature bits. `config` has the
  * 32-bit words of the device's configuration space. `rows` is the number of rows of 32 bytes in
  * the frame store. `patience` is the most cycles for which a used entry may wait until the device
  * decides about its interrupt, while more chains follow.
  *
  * With `frames` a chain of a transmit queue is one whole frame, and so is one of a receive queue.
  * Otherwise they are parts of a stream of bytes. `header` bytes are in front of each frame in a
  * transmit queue. The longest frame has `largest` bytes.
  */
case class VirtioParam(
    id: Int,
    features: BigInt,
    config: Seq[BigInt],
    frames: Boolean = false,
    header: Int = 0,
    largest: Int = 0,
    pairs: Int = 1,
    control: Boolean = false,
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
  require(
    !merges || (frames && (largest + header) / VirtioParam.NetHeader < 255),
    s"merged buffers with frames of $largest bytes: only for frames of up to " +
      s"${255 * VirtioParam.NetHeader - header - 1} bytes, since the number of chains has 8 bits"
  )
  require(
    largestRows + VirtioParam.FlightRows <= rows,
    s"frames of $largest bytes: $rows rows of the frame store hold no such frame with all reads " +
      "in flight"
  )
  require(
    control == (frames && pairs == 2) && (!frames || pairs <= 2),
    s"$pairs pairs of queues: only a net device with 2 pairs has a control queue, and it must"
  )
  require(!(packed && control), "packed rings: the control queue of a second pair has none")

  /** Returns the same device. With `packed` it also offers packed rings. */
  def withPacked(packed: Boolean): VirtioParam =
    if (packed) copy(features = features | BigInt(1) << VirtioParam.Packed) else this

  def largestRows: Int =
    (largest + header + HardBlock.BeatBytes - 1) / HardBlock.BeatBytes
  def queues: Int = 2 * pairs + (if (control) 1 else 0)
  // Chains may be merged for a received frame.
  def merges: Boolean = features.testBit(VirtioParam.NetMerge)
  def packed: Boolean = features.testBit(VirtioParam.Packed)
  def pairWidth: Int  = log2Up(pairs) max 1
  def sizeWidth: Int  = log2Up(queueSize) + 1
  def rowWidth: Int   = log2Up(rows)
  def frameWidth: Int =
    log2Up(rows * HardBlock.BeatBytes) + 1 // Width of a frame's length in bytes.
}

/** Constants of VirtIO 1.2 and of this implementation. */
object VirtioParam {
  // Feature bits (VirtIO 1.2, 6).
  val Indirect         = 28
  val EventIndex       = 29
  val Version1         = 32
  val AccessPlatform   = 33
  val Packed           = 34
  val OrderPlatform    = 36
  val NotificationData = 38
  val RingReset        = 40

  /** A driver that does not accept these features is refused. */
  val Required = BigInt(1) << Version1

  /** Every device of this implementation offers these features. */
  val Transport = Seq(
    Indirect,
    EventIndex,
    Version1,
    AccessPlatform,
    OrderPlatform,
    NotificationData,
    RingReset
  ).map(BigInt(1) << _).reduce(_ | _)

  // Offsets in the rings (VirtIO 1.2, 2.7).
  val RingHead = 4 // Bytes of flags and index, in front of a ring's entries.

  /** The most bytes that one request for a buffer's data has. A request ends at a multiple of this
    * in host memory.
    */
  val ChunkBytes = 256
  val ChunkBeats = ChunkBytes / HardBlock.BeatBytes

  /** A chain whose only buffer has fewer bytes than PlainBytes, and PlainLeast at least, may begin
    * while earlier chains wait for their data. No header is as long as PlainLeast.
    */
  val PlainBytes = 2048
  val PlainLeast = 16

  /** More rows than the reads in flight of a frame can need beside its own rows. */
  val FlightRows = 80

  /** A console of one port (VirtIO 1.2, 5.3) with 80 columns and 25 rows. */
  def console: VirtioParam = VirtioParam(
    id = 3,
    features = Transport | 1, // Bit 0, SIZE: `config` has columns and rows.
    config = Seq(BigInt(25 << 16 | 80), BigInt(1))
  )

  // Bits of the net device's features (VirtIO 1.2, 5.1.3).
  val NetMtu     = 3
  val NetMac     = 5
  val NetMerge   = 15
  val NetStatus  = 16
  val NetControl = 17
  val NetPairs   = 22 // MQ: more than one pair of queues.

  /** The bits by which a net device offers its second pair of queues. */
  val TwoPairs = Seq(NetControl, NetPairs).map(BigInt(1) << _).reduce(_ | _)

  /** Bytes of the header in front of each frame (VirtIO 1.2, 5.1.6). */
  val NetHeader = 12

  /** Where `num_buffers` is in that header. Its upper byte is always 0, since no frame needs more
    * than 255 chains of NetHeader bytes.
    */
  val NetCount = 10

  /** A net device (VirtIO 1.2, 5.1) with one or two pairs of queues. Bit 16 of the second word of
    * its configuration is the state of the link.
    */
  def net(pairs: Int): VirtioParam = VirtioParam(
    id = 1,
    features = (if (pairs == 2) TwoPairs else BigInt(0)) |
      Transport | Seq(NetMtu, NetMac, NetMerge, NetStatus).map(BigInt(1) << _).reduce(_ | _),
    config = Seq(
      mac & 0xffffffffL,
      mac >> 32,
      BigInt(Numbers.VirtioMtu) << 16 | pairs
    ),
    frames = true,
    pairs = pairs,
    control = pairs == 2,
    header = NetHeader,
    largest = Numbers.VirtioMtu + Numbers.EthernetBytes
  )

  def net: VirtioParam = net(Numbers.VirtioNetPairs)

  /** The net device's MAC address as a number whose lowest byte is the address' first byte. */
  private def mac: BigInt =
    (0 until 6).map(n => (BigInt(Numbers.VirtioMac) >> (40 - 8 * n) & 0xff) << (8 * n)).sum
}
