// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** A tag that no read has, and the generation of the last read that had it. */
case class FreeTag(p: ReturnParam) extends Bundle {
  val tag        = UInt(p.tagWidth bits)
  val generation = Bool()
}

/** Free tags, longest free first: what comes for an earlier read meets a later one rarely.
  *
  * Two queues, so that those from 32 on can stay where they are without extended tags.
  */
case class TagPool(p: ReturnParam) extends Component {
  val io = new Bundle {
    val extended = in Bool ()
    val free     = slave(Flow(FreeTag(p)))
    val pop      = master(Stream(FreeTag(p)))
  }
  case class Half(isUpper: Boolean) extends Area {
    val queue = new StreamFifo(FreeTag(p), p.tags / 2, withAsyncRead = true)
    queue.io.push.valid   := io.free.valid && io.free.tag.msb === Bool(isUpper)
    queue.io.push.payload := io.free.payload
    val pop = queue.io.pop.m2sPipe()
  }
  val lowerHalf = Half(isUpper = false)
  val upperHalf = Half(isUpper = true)
  val lower     = lowerHalf.pop
  val upper     = upperHalf.pop

  val turn     = RegInit(False)
  val useUpper = io.extended && upper.valid && (turn || !lower.valid)
  io.pop.valid   := lower.valid || useUpper
  io.pop.payload := useUpper ? upper.payload | lower.payload
  lower.ready    := io.pop.ready && !useUpper
  upper.ready    := io.pop.ready && useUpper
  when(io.pop.fire) { turn := !useUpper }

  // For tests: how many there are.
  val free = Reg(UInt(p.tagWidth + 1 bits)) init 0
  free := free + io.free.valid.asUInt - io.pop.fire.asUInt
}
