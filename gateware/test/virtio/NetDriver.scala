// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import scala.collection.mutable
import scala.util.Random

import lanebox.virtio.vocabulary.VirtioParam

/** A driver of a virtio net device: it sends frames and collects those that come. */
class NetDriver(
    val dut: VirtioDevices,
    random: Random,
    features: BigInt,
    device: Int,
    beside: Option[ConsoleDriver] = None
) extends ConsoleDriver(dut, random, features, device, beside) {
  import VirtioParam.NetHeader

  val frames         = mutable.Queue[IndexedSeq[Byte]]() // Frames that the driver has received.
  val pairs          = mutable.Queue[Int]()              // The pair that each of them came to.
  val counts         = mutable.Queue[Int]()              // The chains of each received frame.
  var overran        = 0                                 // Chains that were used without a frame.
  private val merges = features.testBit(VirtioParam.NetMerge)

  /** Adds a chain with a header of any content and this frame, in up to `parts` buffers. */
  def sendFrame(frame: Seq[Byte], parts: Int = 4, pair: Int = 0): Unit = {
    val transmit = queues(2 * pair + 1)
    val data     = Seq.fill(NetHeader)(random.nextInt().toByte) ++ frame
    val places   = buffers(1 + random.nextInt(parts min transmit.room), data.size)
    var at       = 0
    for ((address, bytes) <- places) {
      memory.put(address, data.slice(at, at + bytes))
      at += bytes
    }
    transmit.add(places, wantsTable)
  }

  /** Adds a chain with room for a frame of `bytes` bytes. If chains are merged and the queue has
    * room for more of them, the chain may be smaller, but it has room for the header.
    */
  def offerFrame(bytes: Int, parts: Int = 4, pair: Int = 0): Unit =
    if (merges && queues(2 * pair).room >= 7)
      offerBytes(NetHeader + random.nextInt(bytes / 2), 3, pair)
    else offerBytes(NetHeader + bytes, parts, pair)

  /** Adds a chain of `bytes` bytes, in up to `parts` buffers. */
  def offerBytes(bytes: Int, parts: Int = 1, pair: Int = 0): Unit = {
    val receive = queues(2 * pair)
    receive.add(buffers(1 + random.nextInt(parts min receive.room), bytes), wantsTable)
  }

  override def collect(): Unit =
    for ((queue, n) <- queues.zipWithIndex) {
      val used = mutable.Queue(queue.takeAll(): _*)
      while (kinds(n) && used.nonEmpty) {
        val (chain, bytes) = used.dequeue()
        val data           = written(chain.buffers, bytes)
        if (bytes == 0) overran += 1
        else {
          val count = (data(10) & 0xff) | (data(11) & 0xff) << 8
          assert(data.take(10).forall(_ == 0), "a received frame has another header")
          assert(count == 1 || (merges && count > 1), s"a frame of $count chains")
          assert(used.size >= count - 1, s"of $count chains of a frame ${used.size + 1} are used")
          val others = (1 until count).map(_ => used.dequeue())
          for ((part, length) <- ((chain, bytes) +: others).init)
            assert(length == part.buffers.map(_._2).sum, "a chain in front of the last is not full")
          val rest = others.flatMap { case (part, length) => written(part.buffers, length) }
          frames += (data.drop(NetHeader) ++ rest).toIndexedSeq
          pairs += n / 2
          counts += count
        }
      }
    }

  private def written(buffers: Seq[(Long, Int)], bytes: Int): Seq[Byte] =
    buffers.flatMap { case (at, length) => memory.get(at, length) }.take(bytes)
}
