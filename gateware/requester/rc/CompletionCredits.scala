// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** Accounts for the space that completions of outstanding reads may need in the block's receive
  * buffer (PG213, 32 KiB). Each completion takes one header credit, and one data credit for every
  * 16 bytes begun.
  *
  * The host may split a read at every read completion boundary. A read is counted with the most
  * completions that the boundary allows, and the count falls as they arrive.
  *
  * `pooled`: headers and data share one pool, a unit for each header and for every 16 bytes begun.
  */
case class CompletionCredits(pooled: Boolean = false) extends Component {
  val io = new Bundle {
    val offered = slave(Flow(ReadExtent())) // The read to be claimed. Stable until its claim.
    val take    = slave(Flow(ReadExtent()))
    val give    = slave(Flow(SpaceReturn()))
    val fits    = out Bool ()               // There is space for the offered read.
  }
  import CompletionCredits._

  case class Space() extends Bundle {
    val headers = UInt(4 bits)
    val data    = UInt(6 bits)
  }

  /** Headers: pieces of 64 B or 128 B (the read completion boundary). Data: pieces of 16 B. Both
    * between two dword addresses less than 1 KiB apart; `upwards` counts a last piece that is not
    * full.
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

  /** Is there space left for `Late` reads of this size? At most that many claims are not counted
    * yet.
    */
  def roomForLate(mostHeaders: Int, mostData: Int): Bool = RegNext(
    if (pooled) headers +^ data <= Data - Late * (mostHeaders + mostData)
    else headers <= Headers - Late * mostHeaders && data <= Data - Late * mostData
  ) init False

  // With so much space no read needs to wait for exact counts, whatever its size.
  val plenty = roomForLate(MostHeaders, MostData)

  // A read that one completion can answer needs less space. It is enough if the claims that are not
  // counted yet are as small. The size of a read is known from the second cycle in which it is
  // offered. With 64-byte reads all headers but the last few are in use: waiting for exact counts
  // would cost each read five cycles.
  val offeredNeeds   = needs(io.offered.payload)
  val offeredIsSmall = RegNext(offeredNeeds.headers === SmallHeaders)
  val isKnown        = RegNext(io.offered.valid && !io.take.valid) init False
  val tookLarge      = io.take.valid && !(offeredIsSmall && isKnown)
  val lateAreSmall   = RegNext(!History(tookLarge, Late, init = False).orR) init False
  val plentyForSmall = roomForLate(SmallHeaders, SmallData)
  val smallFits      = plentyForSmall && offeredIsSmall && isKnown && lateAreSmall

  // After Late + 1 cycles of waiting the counts include every earlier claim.
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
  val Headers     = 256
  val Data        = 2048
  val MostHeaders = LargestRead.Bytes / 64 + 1
  val MostData    = LargestRead.Bytes / 16 + 1

  /** The most that a read needs which one completion can answer: at most 128 bytes. */
  val SmallHeaders = 1
  val SmallData    = 8

  /** Most claims that `plenty` does not include yet, the present one counted. */
  val Late = 4
}

/** The dwords that a read asks for, as far as its completion space depends on them. */
case class ReadExtent() extends Bundle {
  val address = UInt(8 bits) // Of the first dword: its dword address, low bits.
  val dwords  = UInt(8 bits)
  val rcb128  = Bool()
}
