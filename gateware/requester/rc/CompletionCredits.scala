// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rc

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.{LargestRead, Numbers}

/** Accounts for the space that completions of outstanding reads may need in the hard block's
  * receive buffer (PG213, 32 KiB). Each completion takes one header credit, and one data credit for
  * every 16 bytes begun.
  *
  * The host may split the answer to a read at every read completion boundary (64 or 128 bytes). A
  * read is counted with the most completions that the boundary allows. The count falls as the
  * completions arrive.
  *
  * With `pooled` headers and data share one pool of units: each header takes one unit, and every 16
  * bytes of data begun take one unit.
  */
case class CompletionCredits(pooled: Boolean = false) extends Component {
  import CompletionCredits._
  val io = new Bundle {
    val offered = slave(Flow(ReadExtent())) // The read to be claimed next; stable until its claim.
    val take    = slave(Flow(ReadExtent()))
    val give    = slave(Flow(ReadTable.SpaceReturn()))
    val fits    = out Bool ()               // Completion space is free for `offered`.
  }

  case class Space() extends Bundle {
    val headers = UInt(4 bits)
    val data    = UInt(6 bits)
  }

  /** Returns the completion credits for the dwords from address `from` up to `to` (dword addresses,
    * less than 1 KiB apart). A last block of 64, 128 or 16 bytes that is not full counts only with
    * `upwards`.
    */
  def pieces(from: UInt, to: UInt, rcb128: Bool, upwards: Bool): Space = {
    def count(unit: Int): UInt = {
      val width = log2Up(unit)
      val begun = upwards && to(width - 1 downto 0) =/= 0
      to(7 downto width) + begun.asUInt - from(7 downto width)
    }
    val space = Space()
    space.headers := rcb128 ? count(32).resize(4 bits) | count(16)
    space.data    := count(4)
    space
  }

  /** Returns the space that all completions of a read may need. */
  def needs(read: ReadExtent): Space =
    pieces(read.address, read.address + read.dwords, read.rcb128, True)

  val taking = RegNext(needs(io.take.payload))
  val takes  = RegNext(io.take.valid) init False
  val giving = RegNext(
    pieces(io.give.from, io.give.all ? io.give.end | io.give.to, io.give.rcb128, io.give.all)
  )
  val gives = RegNext(io.give.valid) init False

  val headers = Reg(UInt((if (pooled) 10 else 9) bits)) init 0
  val data    = Reg(UInt(12 bits)) init 0
  headers := headers + (takes ? taking.headers | U(0)) - (gives ? giving.headers | U(0))
  data    := data + (takes ? taking.data | U(0)) - (gives ? giving.data | U(0))

  /** Returns a register that says whether space is left for `Late` reads, if each takes at most
    * `mostHeaders` header credits and `mostData` data credits. At most `Late` claims are not in the
    * counts yet, so the next read then surely fits.
    */
  def roomForLate(mostHeaders: Int, mostData: Int): Bool = RegNext(
    if (pooled) headers +^ data <= Data - Late * (mostHeaders + mostData)
    else headers <= Headers - Late * mostHeaders && data <= Data - Late * mostData
  ) init False

  // While `plenty` is set, a read of any size fits without waiting for exact counts.
  val plenty = roomForLate(MostHeaders, MostData)

  // A small read, which one completion can answer, needs less space. It need not wait for exact
  // counts if the claims that are not counted yet are small, too. The size of a read is known from
  // the second cycle in which it is offered. With a stream of 64-byte reads almost all header
  // credits are in use, and waiting for exact counts would cost each read five cycles.
  val offeredNeeds   = needs(io.offered.payload)
  val offeredIsSmall = RegNext(offeredNeeds.headers === SmallHeaders)
  val isKnown        = RegNext(io.offered.valid && !io.take.valid) init False
  val tookLarge      = io.take.valid && !(offeredIsSmall && isKnown)
  val lateAreSmall   = RegNext(!History(tookLarge, Late, init = False).orR) init False
  val plentyForSmall = roomForLate(SmallHeaders, SmallData)
  val smallFits      = plentyForSmall && offeredIsSmall && isKnown && lateAreSmall

  // When a read has been offered for Late + 1 cycles, the counts include every earlier claim.
  val need    = RegNext(offeredNeeds)
  val waited  = Reg(UInt(3 bits)) init 0
  val settled = waited === Late + 1
  when(!settled) { waited := waited + 1 }
  when(!io.offered.valid || io.take.valid) { waited := 0 }
  val room =
    if (pooled) (headers +^ data) +^ (need.headers +^ need.data) <= Data
    else headers +^ need.headers <= Headers && data +^ need.data <= Data
  val exact = RegNext(room && settled && io.offered.valid) init False
  io.fits := plenty || (smallFits || exact) && io.offered.valid
}

object CompletionCredits {
  val Headers     = Numbers.CompletionHeaders
  val Data        = Numbers.CompletionUnits
  val MostHeaders = LargestRead.Bytes / 64 + 1
  val MostData    = LargestRead.Bytes / Numbers.CompletionUnitBytes + 1

  /** The most credits that a small read needs: at most 128 bytes in one completion. */
  val SmallHeaders = 1
  val SmallData    = 8

  /** The most claims that the counts of credits do not include yet, the present one among them. */
  val Late = 4

  /** The address and the length of a read TLP, by which its completion space is computed. */
  case class ReadExtent() extends Bundle {
    val address = UInt(8 bits) // The eight lowest bits of the first dword's dword address.
    val dwords  = UInt(8 bits)
    val rcb128  = Bool()
  }
}
