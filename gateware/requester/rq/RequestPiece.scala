// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** A request as the cutter takes it: `row` says where its data begins in the store. */
case class RequestHeader(p: RequestParam) extends Bundle {
  val write           = Bool()
  val address         = UInt(62 bits) // In dwords.
  val dwords          = UInt(11 bits)
  val firstBe, lastBe = Bits(4 bits)
  val attributes      = Bits(3 bits)
  val context         = Bits(16 bits)
  val row             = UInt(p.rowBits bits)
}

/** The part of a request that goes into one TLP. */
case class RequestPiece(p: RequestParam) extends Bundle {
  val write           = Bool()
  val address         = UInt(62 bits) // In dwords.
  val dwords          = UInt(8 bits)  // 1 to 128.
  val firstBe, lastBe = Bits(4 bits)
  val attributes      = Bits(3 bits)
  val lastOfRequest   = Bool()

  // For writes only.
  val moreBeats = UInt(5 bits)              // Of the TLP, after the first.
  val window    = UInt(p.positionBits bits) // First dword of the TLP's first beat in the store.
  val lastRow   = UInt(p.rowBits bits)

  // For reads only.
  val context       = Bits(16 bits)
  val requestDwords = UInt(11 bits)
}

/** A TLP that may go to RQ: its data is stored, or its tag and space are reserved. */
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
