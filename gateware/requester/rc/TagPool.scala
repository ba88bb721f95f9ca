// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rc

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.Numbers

/** Holds the free tags and gives them to new reads. The tag that has been free for longest is given
  * first. So a late completion rarely finds its tag in use by a new read.
  *
  * The tag of a read that timed out is given only when no other tag is free, because that read's
  * answer may still come. Tags from 32 on have queues of their own. If the host has not enabled
  * extended tags, the tags from 32 on are not used. If the host has enabled them, the tags from 32
  * on are given before tags 0 to 31.
  */
case class TagPool(p: ReturnParam) extends Component {
  import TagPool._
  val io = new Bundle {
    val extended = in Bool ()
    val free     = slave(Flow(FreeTag(p)))
    val suspect  = in Bool () // Valid with `free`: the last read with the freed tag timed out.
    val pop      = master(Stream(FreeTag(p)))
  }
  case class Queue(isUpper: Boolean, isSuspect: Boolean) extends Area {
    val depth = if (isUpper) 1 << log2Up(p.tags - TagPool.Lower) else TagPool.Lower
    val queue = new StreamFifo(FreeTag(p), depth, withAsyncRead = true)
    val upper = io.free.tag.drop(log2Up(TagPool.Lower)).orR
    val mine  = upper === Bool(isUpper) && io.suspect === Bool(isSuspect)
    val freed = io.free.takeWhen(mine)
    queue.io.push << freed.toStream // A queue has room for all its tags.
    val pop = queue.io.pop.m2sPipe()
  }
  val lower        = Queue(isUpper = false, isSuspect = false)
  val upper        = Queue(isUpper = true, isSuspect = false)
  val lowerSuspect = Queue(isUpper = false, isSuspect = true)
  val upperSuspect = Queue(isUpper = true, isSuspect = true)

  val upperIsFree = io.extended && upper.pop.valid
  val useSuspect  = !lower.pop.valid && !upperIsFree
  val useUpper    = useSuspect ? (io.extended && upperSuspect.pop.valid) | upperIsFree
  val source      = (useSuspect ## useUpper).asUInt
  io.pop << StreamMux(source, Seq(lower.pop, upper.pop, lowerSuspect.pop, upperSuspect.pop))

  // No logic uses the number of free tags, only tests read it.
  val free = Reg(UInt(p.tagWidth + 1 bits)) init 0
  free := free + io.free.valid.asUInt - io.pop.fire.asUInt
}

object TagPool {

  /** The number of tags that may be used if the host has not enabled extended tags. */
  val Lower = Numbers.ShortReadTags

  /** A free tag, and the generation of the last read that had it: a bit that toggles with every
    * read with the tag.
    */
  case class FreeTag(p: ReturnParam) extends Bundle {
    val tag        = UInt(p.tagWidth bits)
    val generation = Bool()
  }
}
