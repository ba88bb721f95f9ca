// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.vocabulary

import spinal.core._

/** Computes what the first and last byte enables of a request mean (base specification 2.2.5 and
  * 2.3.1).
  */
object ByteEnables {

  /** Returns how many bytes of a dword are before its first enabled byte: 0 to 3, and 0 if no byte
    * is enabled.
    */
  def firstGap(be: Bits): UInt = {
    val bytes = UInt(2 bits)
    bytes := 0
    for (i <- 3 to 0 by -1) when(be(i))(bytes := i)
    bytes
  }

  /** Returns how many bytes of a dword are after its last enabled byte: 0 to 3. It is 3 if no byte
    * is enabled, because a zero-length read counts as one byte.
    */
  def lastGap(be: Bits): UInt = {
    val bytes = UInt(2 bits)
    bytes := 3
    for (i <- 0 to 3) when(be(i))(bytes := 3 - i)
    bytes
  }

  /** Returns how many bytes of a request's last dword are after its last enabled byte. If the
    * request has one dword (`single`), its last byte enables are 0, so its first byte enables
    * count.
    */
  def lastGap(single: Bool, firstBe: Bits, lastBe: Bits): UInt =
    lastGap(single ? firstBe | lastBe)

  /** Returns the byte count of a read: the bytes from its first to its last enabled byte, both
    * included. A zero-length read counts as 1 byte.
    */
  def span(dwords: UInt, firstBe: Bits, lastBe: Bits): UInt =
    (dwords @@ U"00") - (firstGap(firstBe) +^ lastGap(dwords === 1, firstBe, lastBe))

  /** Returns whether a request's byte enables are legal (base specification 2.2.5). The last byte
    * enables of a single dword must be 0. Two dwords in one aligned quadword may have any byte
    * enables that are not 0. In other requests the enabled bytes must be contiguous.
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
