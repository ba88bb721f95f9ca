// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rq

import spinal.core._

import lanebox.vocabulary.Numbers

/** The part of a client's request that goes into one TLP. */
case class RequestPiece(p: RequestParam) extends Bundle {
  val write           = Bool()
  val address         = UInt(62 bits) // Dword address in host memory.
  val dwords          = UInt(8 bits)  // Dwords of the piece: 1 to 128.
  val firstBe, lastBe = Bits(4 bits)
  val attributes      = Bits(3 bits)
  val lastOfRequest   = Bool()

  // The fields `moreBeats`, `start` and `lastRow` are for writes only.
  // Number of beats that the TLP has on RQ, without its first beat.
  val moreBeats = UInt(5 bits)
  // Position in the client's store, in dwords, of what would be dword 0 of the TLP's first beat.
  // The first four dwords of that beat are the descriptor, so the payload begins four positions
  // later.
  val start = UInt(p.positionBits bits)
  // Row (32 bytes) of the client's store that holds the piece's last dword.
  val lastRow = UInt(p.rowBits bits)

  // The fields `context` and `requestDwords` are for reads only.
  val context       = Bits(Numbers.ContextWidth bits)
  val requestDwords = UInt(Numbers.DwordCountWidth bits)
}
