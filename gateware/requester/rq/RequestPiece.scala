// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rq

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.Numbers

/** A client's request without its data, as RequestCutter takes it. `row` is the row of the client's
  * store in which the request's write data begins.
  */
case class RequestHeader(p: RequestParam) extends Bundle {
  val write           = Bool()
  val address         = UInt(62 bits) // Dword address in host memory.
  val dwords          = UInt(11 bits)
  val firstBe, lastBe = Bits(4 bits)
  val attributes      = Bits(3 bits)
  val context         = Bits(16 bits)
  val row             = UInt(p.rowBits bits)
}

/** The part of a client's request that goes into one TLP. */
case class RequestPiece(p: RequestParam) extends Bundle {
  val write           = Bool()
  val address         = UInt(62 bits) // Dword address in host memory.
  val dwords          = UInt(8 bits)  // Dwords of the piece: 1 to 128.
  val firstBe, lastBe = Bits(4 bits)
  val attributes      = Bits(3 bits)
  val lastOfRequest   = Bool()

  // The fields `moreBeats`, `window` and `lastRow` are for writes only.
  val moreBeats = UInt(5 bits) // Beats of the TLP on RQ, after the first.
  // Position in the store of what would be dword 0 of the TLP's first beat on RQ. The first four
  // dwords of that beat are the descriptor, so the payload begins four positions later.
  val window  = UInt(p.positionBits bits)
  val lastRow = UInt(p.rowBits bits) // Row of the store that holds the piece's last dword.

  // The fields `context` and `requestDwords` are for reads only.
  val context       = Bits(16 bits)
  val requestDwords = UInt(11 bits)
}

/** A TLP that may go to RQ: a write whose data is in the store, or a read that has its tag and its
  * completion space.
  */
case class RequestIssue(p: RequestParam) extends Bundle {
  val write           = Bool()
  val address         = UInt(62 bits)
  val dwords          = UInt(8 bits)
  val firstBe, lastBe = Bits(4 bits)
  val attributes      = Bits(3 bits)
  val lastOfRequest   = Bool()
  val moreBeats       = UInt(5 bits)
  val window          = UInt(p.positionBits bits)
  val tag             = UInt(Numbers.TagWidth bits)

  def of(piece: RequestPiece): Unit = {
    write         := piece.write
    address       := piece.address
    dwords        := piece.dwords
    firstBe       := piece.firstBe
    lastBe        := piece.lastBe
    attributes    := piece.attributes
    lastOfRequest := piece.lastOfRequest
  }
}
