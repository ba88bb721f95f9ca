// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rq

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.Numbers

/** Cuts a client's requests into pieces of one TLP each.
  *
  * Requests are cut at 4 KiB boundaries. Besides, a write's piece has at most the host's
  * Max_Payload_Size, a read's piece at most its Max_Read_Request_Size. A small request passes in
  * one cycle: one of at most 128 B that does not begin in the last 128 B of a page, or one of a
  * single dword. Other requests give a piece in every second cycle. That is fast enough, since the
  * data of such a piece takes longer than that on RQ or RC.
  */
case class RequestCutter(p: RequestParam) extends Component {
  import RequestCutter._
  val io = new Bundle {
    // Most dwords of a write's piece and of a read's piece: 32, 64 or 128.
    val payloadDwords, readDwords = in UInt (8 bits)
    val request                   = slave(Stream(Header(p)))
    val pieces                    = master(Stream(RequestPiece(p)))
  }

  case class Rest() extends Bundle {
    // `dwords`, `row` and `lastBe` of the header are those of the whole request. Its `address` and
    // `firstBe` are those of the part that is left.
    val header = Header(p)
    val left   = UInt(Numbers.DwordCountWidth bits)
    // Dwords to the next 4 KiB boundary: 1 to 1024.
    val toBoundary = UInt(Numbers.DwordCountWidth bits)
    // Position of the first dword that is left, in dwords of the client's store of write data.
    val position = UInt(p.positionBits bits)
    val fresh    = Bool() // No piece has been cut off the request yet.
    // The request is one piece, whatever MPS and MRRS are.
    val small = Bool()
  }

  val restValid, cutValid = RegInit(False)
  val rest, cut           = Reg(Rest())
  val cutDwords           = Reg(UInt(8 bits))
  val cutLast             = Reg(Bool())

  val measure = new Area {
    // Returns `dwords`, but at most 128, since no piece has more dwords.
    def capped(dwords: UInt): UInt =
      dwords(10 downto 7).orR ? U(RequestParam.PieceDwords, 8 bits) | dwords(7 downto 0)
    def smaller(a: UInt, b: UInt): UInt = (a < b) ? a | b

    val limit  = rest.header.write ? io.payloadDwords | io.readDwords
    val dwords = smaller(smaller(capped(rest.left), capped(rest.toBoundary)), limit)
    val last   = rest.left <= limit && rest.left <= rest.toBoundary
  }

  // After the last piece of a request, `rest` takes the next request. After any other piece, it
  // takes the part of the request that is left.
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
  // A request may enter `rest` in the cycle in which a `small` request leaves it. Behind any other
  // request it enters a cycle later, when `cut` says that no part is left. No pipeline stage has
  // such a rule.
  io.request.ready      := (restValid ? (moves && rest.small) | !restComes)
  when(moves)(restValid := False)
  when(io.request.fire) {
    val request = io.request.payload
    restValid   := True
    rest.header := request
    rest.left   := request.dwords
    rest.toBoundary := RequestParam.PageDwords -
      request.address(9 downto 0).resize(Numbers.DwordCountWidth bits)
    rest.position := request.row @@ U(0, 3 bits)
    rest.fresh    := True
    rest.small := request.dwords === 1 ||
      (request.dwords <= RequestParam.LeastLimit && !request.address(9 downto 5).andR)
  }
  // When a piece has left and a part of its request is left, that part enters `rest`, which still
  // holds the header of the request.
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

  // A TLP of a single dword has only first byte enables. If this dword is the end of a longer
  // request, they must be the request's last byte enables.
  val single = cutDwords === 1
  val header = cut.header
  // Dwords of the TLP on RQ (descriptor and payload), less one.
  val behind = cutDwords + RequestParam.Descriptor - 1
  // Position of the piece's last dword in the client's store of write data, in dwords.
  val lastAt = cut.position + cutDwords - 1
  val beats  = behind >> 3
  io.pieces.valid         := cutValid
  io.pieces.write         := header.write
  io.pieces.address       := header.address
  io.pieces.dwords        := cutDwords
  io.pieces.firstBe       := (single && cutLast && !cut.fresh) ? header.lastBe | header.firstBe
  io.pieces.lastBe        := single ? B"0000" | (cutLast ? header.lastBe | B"1111")
  io.pieces.attributes    := header.attributes
  io.pieces.lastOfRequest := cutLast
  io.pieces.moreBeats     := header.write ? beats | U(0)
  io.pieces.start         := cut.position - RequestParam.Descriptor
  io.pieces.lastRow       := lastAt >> 3
  io.pieces.context       := header.context
  io.pieces.requestDwords := header.dwords
}

object RequestCutter {

  /** A client's request without its data. `row` is the row of the client's store in which the
    * request's write data begins.
    */
  case class Header(p: RequestParam) extends Bundle {
    val write           = Bool()
    val address         = UInt(62 bits)
    val dwords          = UInt(Numbers.DwordCountWidth bits)
    val firstBe, lastBe = Bits(4 bits)
    val attributes      = Bits(3 bits)
    val context         = Bits(Numbers.ContextWidth bits)
    val row             = UInt(p.rowBits bits)
  }
}
