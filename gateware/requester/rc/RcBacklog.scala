// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rc

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.HardBlock

/** Holds beats of RC until RcUnpacker takes them. It has room for all completions that outstanding
  * reads may bring, so RC is never held off.
  *
  * As a rule few beats wait, in a short queue of LUTRAM. When that queue is full, beats go to a
  * long queue of UltraRAM until the long queue is empty again, so they keep their order. Completion
  * space is given back only when the unpacker has taken a completion's first beat. So at most
  * `Most` beats and the rest of one completion can wait, however the host splits its answers and
  * however many steps the unpacker needs. Completions that no read waits for come on top of that;
  * the long queue has room for some hundreds of beats more.
  */
case class RcBacklog[T <: Data](payloadType: HardType[T]) extends Component {
  import RcBacklog._
  val io = new Bundle {
    val push = slave(Stream(payloadType()))
    val pop  = master(Stream(payloadType()))
  }
  val near = new StreamFifo(payloadType(), Near, withAsyncRead = true)
  val far  = new StreamFifo(payloadType(), Far)
  far.logic.ram.addAttribute("ram_style", "ultra")
  io.pop << near.io.pop

  val back   = far.io.pop.m2sPipe()
  val count  = Reg(UInt(log2Up(Far + 2) bits)) init 0
  val behind = RegInit(False) // The long queue or `back` holds beats.
  count := count + far.io.push.fire.asUInt - back.fire.asUInt
  when(back.fire && count === 1) { behind := False }
  when(far.io.push.fire) { behind := True }

  // No stream operator fits: a beat goes to `near`, or to `far` if `near` is full or if earlier
  // beats are still in `far`.
  near.io.push.valid   := behind ? back.valid | io.push.valid
  near.io.push.payload := behind ? back.payload | io.push.payload
  back.ready           := near.io.push.ready
  far.io.push.valid    := io.push.valid && (behind || !near.io.push.ready)
  far.io.push.payload  := io.push.payload
  // `ready` does not depend on the queue that takes the beat, so it comes early in the cycle.
  io.push.ready := far.io.push.ready
}

object RcBacklog {
  val Near = 32
  val Far  = 2048

  /** The most beats that completions of outstanding reads may fill. A completion of n data credits
    * has at most 4n dwords of payload and 3 of descriptor, and up to 7 lanes of its last beat may
    * be empty.
    */
  val Most = (4 * CompletionCredits.Data + 10 * CompletionCredits.Headers) / HardBlock.Dwords

  require(Far >= Most, s"$Far beats: outstanding reads may bring $Most")
}
