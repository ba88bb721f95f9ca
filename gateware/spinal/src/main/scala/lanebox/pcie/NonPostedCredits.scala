// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._

/** Lends the hard block credits for non-posted requests: at most `limit` are lent at any time.
  *
  * A credit is lent from the cycle of its grant until the final completion of the request that took
  * it. With `limit` lowered returns are kept until the pool fits, raised it grants more at once; no
  * credit is ever lost. Grants are pulses, one for each credit: the cycle after the return.
  */
case class NonPostedCredits() extends Component {
  val io = new Bundle {
    val limit    = in UInt (6 bits) // 1 to 32; 0 counts as 1, more as 32.
    val returned = in Bool ()
    val grant    = out Bool ()
    val lent     = out UInt (6 bits)
  }

  val limit = RegInit(U(1, 6 bits))
  limit                                       := io.limit
  when(io.limit === 0)(limit                  := 1)
  when(io.limit > CompleterParam.Reads)(limit := CompleterParam.Reads)

  val lent  = Reg(UInt(6 bits)) init 0
  val grant = RegInit(False)
  val below = lent < limit
  val exact = lent === limit
  // `returned` comes late: each way out is known before it.
  grant                                      := below || (io.returned && exact)
  when(below && !io.returned)(lent           := lent + 1)
  when(!below && !exact && io.returned)(lent := lent - 1)

  io.grant := grant
  io.lent  := lent
}
