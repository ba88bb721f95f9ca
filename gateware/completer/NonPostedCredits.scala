// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.completer

import spinal.core._

/** Grants the hard block credits for non-posted requests of the host. With each credit the hard
  * block may pass on one request. At most `limit` credits are lent at any time.
  *
  * A credit is lent from its grant until the final completion of the request that used it. When
  * `limit` is lowered, returned credits are not granted again until no more than `limit` are lent.
  * When `limit` is raised, more credits are granted at once. No credit is lost. A grant is a pulse
  * of one cycle for each credit. A credit that comes back is granted again in the next cycle.
  */
case class NonPostedCredits() extends Component {
  val io = new Bundle {
    // Most credits lent at a time: 1 to 32. 0 counts as 1, a value above 32 counts as 32.
    val limit    = in UInt (6 bits)
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
  // `returned` comes late in the cycle. So the comparisons do not wait for it: they are made for
  // both of its values, and `returned` only selects.
  grant                                      := below || (io.returned && exact)
  when(below && !io.returned)(lent           := lent + 1)
  when(!below && !exact && io.returned)(lent := lent - 1)

  io.grant := grant
  io.lent  := lent
}
