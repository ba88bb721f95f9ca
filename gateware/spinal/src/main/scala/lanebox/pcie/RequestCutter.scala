// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** Cuts requests into what one TLP may ask for.
  *
  * Writes are cut at 4 KiB and where the host's largest payload ends. Reads are cut at 4 KiB, where
  * the host's largest read request ends. A small
  * request, of 128 B at most and not at the end of a page, passes in every cycle, and one dword
  * anywhere. The pieces of others come in every second cycle: their data takes longer.
  */
case class RequestCutter(p: RequestParam) extends Component {
  val io = new Bundle {
    val payloadDwords, readDwords = in UInt (8 bits) // 32, 64 or 128.
    val request                   = slave(Stream(RequestHeader(p)))
    val pieces                    = master(Stream(RequestPiece(p)))
  }

  /** The part of a request that is still to be cut. */
  case class Rest() extends Bundle {
    val header     = RequestHeader(p)          // All but `dwords` and `row` are those of the rest.
    val left       = UInt(11 bits)
    val toBoundary = UInt(11 bits)             // 4 KiB: 1 to 1024 dwords.
    val position   = UInt(p.positionBits bits) // In the store.
    val fresh      = Bool()                    // Nothing was cut off yet.
    val small      = Bool()                    // Surely one piece; known before it is measured.
  }

  val restValid, cutValid = RegInit(False)
  val rest, cut           = Reg(Rest())
  val cutDwords           = Reg(UInt(8 bits))
  val cutLast             = Reg(Bool())

  val measure = new Area {
    def capped(dwords: UInt): UInt = // What is above 128 never decides.
      dwords(10 downto 7).orR ? U(RequestParam.PieceDwords, 8 bits) | dwords(7 downto 0)
    def smaller(a: UInt, b: UInt): UInt = (a < b) ? a | b

    val limit  = rest.header.write ? io.payloadDwords | io.readDwords
    val dwords = smaller(smaller(capped(rest.left), capped(rest.toBoundary)), limit)
    val last   = rest.left <= limit && rest.left <= rest.toBoundary
  }

  // Behind what is cut last comes the next request, behind another piece its rest.
  val emitted = io.pieces.fire
  val moves   = restValid && (!cutValid || emitted)
  when(emitted)(cutValid := False)
  when(moves) {
    cutValid  := True
    cut       := rest
    cutDwords := measure.dwords
    cutLast   := measure.last
  }

  val restComes = cutValid && !cutLast
  io.request.ready      := (restValid ? (moves && rest.small) | !restComes)
  when(moves)(restValid := False)
  when(io.request.fire) {
    val request = io.request.payload
    restValid       := True
    rest.header     := request
    rest.left       := request.dwords
    rest.toBoundary := RequestParam.PageDwords - request.address(9 downto 0).resize(11 bits)
    rest.position   := request.row @@ U(0, 3 bits)
    rest.fresh      := True
    rest.small := request.dwords === 1 ||
      (request.dwords <= RequestParam.LeastLimit && !request.address(9 downto 5).andR)
  }
  // Nothing has come into `rest` since the piece was cut off it.
  when(emitted && restComes) {
    val atBoundary = cutDwords === rest.toBoundary
    val address    = rest.header.address
    restValid                        := True
    address(9 downto 0)              := address(9 downto 0) + cutDwords
    address(61 downto 10)            := address(61 downto 10) + atBoundary.asUInt
    rest.header.firstBe              := B"1111"
    rest.left                        := rest.left - cutDwords
    rest.toBoundary                  := rest.toBoundary - cutDwords
    when(atBoundary)(rest.toBoundary := RequestParam.PageDwords)
    rest.position                    := rest.position + cutDwords
    rest.fresh                       := False
  }

  // A single dword has only first byte enables, and at the end of a request they are its last.
  val single = cutDwords === 1
  val header = cut.header
  io.pieces.valid         := cutValid
  io.pieces.write         := header.write
  io.pieces.address       := header.address
  io.pieces.dwords        := cutDwords
  io.pieces.firstBe       := (single && cutLast && !cut.fresh) ? header.lastBe | header.firstBe
  io.pieces.lastBe        := single ? B"0000" | (cutLast ? header.lastBe | B"1111")
  io.pieces.attributes    := header.attributes
  io.pieces.lastOfRequest := cutLast
  io.pieces.moreBeats     := header.write ? ((cutDwords + RequestParam.Descriptor - 1) >> 3) | U(0)
  io.pieces.window        := cut.position - RequestParam.Descriptor
  io.pieces.lastRow       := (cut.position + cutDwords - 1) >> 3
  io.pieces.context       := header.context
  io.pieces.requestDwords := header.dwords
}
