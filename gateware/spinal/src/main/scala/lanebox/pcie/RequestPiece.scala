// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** A request as the cutter takes it: where its data is, instead of the data. */
case class RequestHeader(p: RequestParam) extends Bundle {
  val write           = Bool()
  val address         = UInt(62 bits) // In dwords.
  val dwords          = UInt(11 bits)
  val firstBe, lastBe = Bits(4 bits)
  val attributes      = Bits(3 bits)
  val context         = Bits(16 bits)
  val row             = UInt(p.rowBits bits)
}

/** What one TLP takes of a request. */
case class RequestPiece(p: RequestParam) extends Bundle {
  val write           = Bool()
  val address         = UInt(62 bits) // In dwords.
  val dwords          = UInt(8 bits)  // 1 to 128.
  val firstBe, lastBe = Bits(4 bits)
  val attributes      = Bits(3 bits)
  val lastOfRequest   = Bool()

  // Writes only.
  val moreBeats = UInt(5 bits)              // Of the TLP, after the first.
  val window    = UInt(p.positionBits bits) // Store position of what fills the TLP's first beat.
  val lastRow   = UInt(p.rowBits bits)

  // Reads only.
  val context       = Bits(16 bits)
  val requestDwords = UInt(11 bits)
}

/** A TLP that has all it needs. */
case class RequestIssue(p: RequestParam) extends Bundle {
  val write           = Bool()
  val address         = UInt(62 bits)
  val dwords          = UInt(8 bits)
  val firstBe, lastBe = Bits(4 bits)
  val attributes      = Bits(3 bits)
  val lastOfRequest   = Bool()
  val moreBeats       = UInt(5 bits)
  val window          = UInt(p.positionBits bits)
  val tag             = UInt(8 bits)

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
