// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.chains

import scala.util.Random

import lanebox.virtio.NetBench
import lanebox.virtio.steering.Flow

/** Makes random frames for a net device, of which no two are the same. Each flow has a pair of queues
  * by which it is sent.
  */
class RandomFrames(random: Random) {
  val Flows        = 8
  private val home = Seq.fill(Flows)(random.nextInt(2))
  var made         = 0

  // No two flows that the card can know have the same place in its table.
  private val flows = (0 until Flows).foldLeft(Seq[Flow]()) { (found, n) =>
    found :+ Iterator
      .continually(Flow(n, Flow.Kinds((n + random.nextInt(2)) % Flow.Kinds.size), random))
      .find(flow => !found.exists(other => other.known && other.place == flow.place))
      .get
  }

  /** Returns a flow that is sent by this pair, or none. */
  def flowOf(pair: Int): Int = {
    val own = home.indices.filter(home(_) == pair)
    if (own.isEmpty) RandomFrames.NoFlow else own(random.nextInt(own.size))
  }

  /** Returns whether the received frames of a flow come to the second pair when the card knows it. */
  def comesToSecond(flow: Int): Boolean = flow >= 0 && home(flow) == 1 && flows(flow).known

  /** Returns a frame of a flow, or one of no flow. */
  def of(flow: Int, back: Boolean): IndexedSeq[Byte] = {
    made += 1
    if (flow < 0) bytes(12) ++ RandomFrames.Experimental ++ bytes(random.nextInt(19))
    else {
      val front = flows(flow).frame(made, back)
      front ++ bytes(random.nextInt(8) match {
        case 0 => random.nextInt(NetBench.Largest - front.size + 1)
        case 1 => NetBench.Largest - front.size - random.nextInt(40)
        case 2 => random.nextInt(300)
        case _ => random.nextInt(40)
      })
    }
  }

  private def bytes(count: Int): IndexedSeq[Byte] = {
    val data = new Array[Byte](count)
    random.nextBytes(data)
    data.toIndexedSeq
  }
}

object RandomFrames {
  val NoFlow = -1

  /** An EtherType that is not that of IP. */
  val Experimental = IndexedSeq(0x88.toByte, 0xb5.toByte)
}
