// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** The time of reads: eight ticks make a timeout. Also asks for a probe of every tag in turn,
  * without end.
  *
  * With a timeout of 0 no tick comes. Probes go on, so that reads which timed out before are still
  * found.
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
  // The comparison is registered: when `over` is set, two cycles of the next period have passed.
  over   := cycles >= period && period =/= 0 && !over
  cycles := over ? U(2) | cycles + 1
  when(over) { tick := tick + 1 }
  io.tick := tick

  val tag = Counter(p.tags, io.probe.fire)
  io.probe.valid   := True
  io.probe.payload := tag
}
