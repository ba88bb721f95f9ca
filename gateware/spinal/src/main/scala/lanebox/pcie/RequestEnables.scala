// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._

/** What first and last byte enables mean, base specification 2.2.5 and 2.3.1. */
object RequestEnables {

  /** Bytes in front of the first enabled one; 0 if none is. */
  def skipped(firstBe: Bits): UInt = {
    val bytes = UInt(2 bits)
    bytes := 0
    for (i <- 3 to 0 by -1) when(firstBe(i))(bytes := i)
    bytes
  }

  /** Bytes behind the last enabled one; 3 if none is. */
  def trailing(be: Bits): UInt = {
    val bytes = UInt(2 bits)
    bytes := 3
    for (i <- 0 to 3) when(be(i))(bytes := 3 - i)
    bytes
  }

  /** A read's byte count: from the first to the last enabled byte, 1 for a zero-length read. */
  def span(dwords: UInt, firstBe: Bits, lastBe: Bits): UInt = {
    val end  = trailing((dwords === 1) ? firstBe | lastBe)
    val less = UInt(3 bits)
    less := skipped(firstBe).resize(3) + end
    (dwords @@ U"00") - less
  }

  /** Base specification 2.2.5: a single dword has no last enables; two dwords in one quadword may
    * have any; in longer requests the enabled bytes must be contiguous.
    */
  def legal(dwords: UInt, firstBe: Bits, lastBe: Bits, quadwordAligned: Bool): Bool = {
    val single = dwords === 1
    val pair   = dwords === 2 && quadwordAligned
    val begun = firstBe === B"1111" || firstBe === B"1110" || firstBe === B"1100" ||
      firstBe === B"1000"
    val ended = lastBe === B"1111" || lastBe === B"0111" || lastBe === B"0011" ||
      lastBe === B"0001"
    single ? (lastBe === 0) | ((pair && firstBe =/= 0 && lastBe =/= 0) || (begun && ended))
  }
}
