// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.chains

import scala.collection.mutable
import scala.util.Random

import lanebox.virtio.{NetBench, NetDriver}
import lanebox.virtio.vocabulary.VirtioParam.NetHeader

/** A transmit queue of a net device. */
class SendQueue(driver: NetDriver, random: Random, val pair: Int, ledger: FrameLedger)
    extends ServedQueue(driver, random, 2 * pair + 1) {
  private val frames = mutable.Queue[FrameLedger.Frame]() // Of all chains that were offered.

  /** Offers a chain with a header of any content and this frame. Without data the chain is no longer
    * than a header.
    */
  def add(data: IndexedSeq[Byte], flow: Int): Unit = {
    val header         = if (data.isEmpty) 1 + random.nextInt(NetHeader) else NetHeader
    val bytes          = Seq.fill(header)(random.nextInt().toByte) ++ data
    val (parts, table) = FrameQueues.parts(driver, queue.room, queue.size)
    val buffers        = driver.buffers(parts, bytes.size)
    val contents       = bytes.iterator
    for ((at, size) <- buffers) driver.memory.put(at, contents.take(size).toSeq)
    frames += ledger.send(pair, data, flow)
    offer(buffers, table)
  }

  def collect(): Unit =
    for ((_, bytes) <- takeBack()) {
      assert(bytes == 0, s"$bytes bytes were written to a chain to send")
      ledger.used(frames.dequeue())
    }

  override def cut(): Unit = {
    collect()
    val (published, others) = frames.toSeq.splitAt(frames.size - hidden)
    ledger.cut(pair, published, others)
  }
}

/** A receive queue of a net device. With `merges` a frame may have several chains. */
class TakeQueue(
    driver: NetDriver,
    random: Random,
    pair: Int,
    merges: Boolean,
    ledger: FrameLedger
) extends ServedQueue(driver, random, 2 * pair) {

  /** Offers a chain. Its room is random, but with `merges` some chains that follow one another
    * always have room for a whole frame.
    */
  def add(): Unit = {
    val some  = NetHeader + random.nextInt(NetBench.Largest / 2)
    val whole = NetHeader + NetBench.Largest + random.nextInt(100)
    val small = if (merges) queue.room >= 7 && random.nextInt(3) > 0 else random.nextInt(24) == 0
    val (parts, table) = FrameQueues.parts(driver, queue.room min (if (small) 3 else 4), queue.size)
    offer(driver.buffers(parts, if (small) some else whole), table)
  }

  /** Returns whether the chains that the device has hold a frame, or lose it. */
  def hasRoom: Boolean =
    rooms.nonEmpty && (!merges || rooms.sum >= NetHeader + NetBench.Largest)

  def collect(): Unit = {
    val used = mutable.Queue(takeBack(): _*)
    while (used.nonEmpty) {
      val first @ (chain, bytes) = used.dequeue()
      if (bytes == 0) overran(chain)
      else {
        val Seq(low, high) = written(chain.buffers, bytes).slice(10, 12).map(_ & 0xff)
        val count          = low | high << 8
        assert(count == 1 || (merges && count > 1), s"a frame of $count chains")
        assert(
          used.size >= count - 1,
          s"a frame of $count chains, of which ${used.size + 1} are used"
        )
        take(first +: Seq.fill(count - 1)(used.dequeue()))
      }
    }
  }

  private def overran(chain: queue.Chain): Unit = {
    assert(!merges && chain.room < NetHeader + NetBench.Largest, s"no frame in ${chain.room} bytes")
    ledger.overran()
  }

  /** Compares a frame that has these chains, and as many as it needs. */
  private def take(chains: Seq[(queue.Chain, Int)]): Unit = {
    for ((chain, bytes) <- chains.init)
      assert(
        bytes == chain.room,
        s"$bytes bytes in a chain of ${chain.room}, which is not the last"
      )
    assert(chains.last._2 > 0, "a chain of a frame is empty")
    val data   = chains.flatMap { case (chain, bytes) => written(chain.buffers, bytes) }
    val header = Seq.fill(10)(0.toByte) ++ Seq(chains.size.toByte, 0.toByte)
    assert(data.take(NetHeader) == header, s"a header ${data.take(NetHeader)}")
    ledger.came(pair, data.drop(NetHeader).toIndexedSeq)
  }

  override def cut(): Unit = {
    collect()
    ledger.cutReceive(pair, rooms.size)
  }
}

object FrameQueues {

  /** Returns a random number of buffers for a chain, and whether they are in an indirect table. Most
    * chains have one buffer.
    */
  def parts(driver: NetDriver, room: Int, size: Int): (Int, Boolean) = {
    import driver.random
    val table = driver.indirect && random.nextInt(3) == 0
    val most  = if (table) size min 6 else room min 4
    (if (random.nextInt(3) > 0) 1 else 1 + random.nextInt(most), table)
  }
}
