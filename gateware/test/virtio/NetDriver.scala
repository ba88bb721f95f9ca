// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import scala.collection.mutable
import scala.util.Random

/** A driver of a virtio net device: it sends frames and collects those that come. */
class NetDriver(
    val dut: VirtioDevices,
    random: Random,
    features: BigInt,
    device: Int,
    beside: Option[ConsoleDriver] = None
) extends ConsoleDriver(dut, random, features, device, beside) {
  import VirtioParam.NetHeader

  val frames    = mutable.Queue[IndexedSeq[Byte]]() // Frames that have come.
  var overran   = 0                                 // Chains that were used without a frame.
  private val h = Seq.fill(10)(0.toByte) ++ Seq(1.toByte, 0.toByte)

  /** Adds a chain with a header of any content and this frame, in up to `parts` buffers. */
  def sendFrame(frame: Seq[Byte], parts: Int = 4): Unit = {
    val data   = Seq.fill(NetHeader)(random.nextInt().toByte) ++ frame
    val places = buffers(1 + random.nextInt(parts min transmit.room), data.size)
    var at     = 0
    for ((address, bytes) <- places) {
      memory.put(address, data.slice(at, at + bytes))
      at += bytes
    }
    transmit.add(places, wantsTable)
  }

  /** Adds a chain with room for a frame of `bytes` bytes. */
  def offerFrame(bytes: Int, parts: Int = 4): Unit =
    receive.add(buffers(1 + random.nextInt(parts min receive.room), NetHeader + bytes), wantsTable)

  override def collect(): Unit =
    for (queue <- queues; (chain, bytes) <- queue.takeAll() if queue eq receive) {
      val data = chain.buffers.flatMap { case (at, length) => memory.get(at, length) }.take(bytes)
      if (bytes == 0) overran += 1
      else {
        assert(data.take(NetHeader) == h, "a received frame has another header")
        frames += data.drop(NetHeader).toIndexedSeq
      }
    }
}
