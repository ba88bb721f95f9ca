// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rc

import spinal.core._
import spinal.lib._

/** Measures time for the timeout of the card's reads: `tick` counts eighths of the timeout.
  * ReadClock also asks for a probe of one tag after the other, without end. A probe finds out
  * whether the tag's read has timed out.
  *
  * If the timeout is set to 0, `tick` stops. Probes go on, so that reads which timed out before are
  * still found.
  */
case class ReadClock(p: ReturnParam) extends Component {
  val io = new Bundle {
    val timeoutCycles = in UInt (32 bits)
    val tick          = out UInt (7 bits)
    val probe         = master(Stream(UInt(p.tagWidth bits)))
  }
  val period = RegNext(io.timeoutCycles >> 3)
  val cycles = Reg(UInt(29 bits)) init 0
  val over   = RegInit(False)
  val tick   = Reg(UInt(7 bits)) init 0
  // `over` is a register, so `cycles` is cleared when two cycles of the next period are over.
  over   := cycles >= period && period =/= 0 && !over
  cycles := over ? U(2) | cycles + 1
  when(over) { tick := tick + 1 }
  io.tick := tick

  val tag = Counter(p.tags, io.probe.fire)
  io.probe.valid   := True
  io.probe.payload := tag
}
