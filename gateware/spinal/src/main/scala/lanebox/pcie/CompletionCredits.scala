// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** The room that completions may need in the block's receive buffer (PG213, 32 KiB): a header each,
  * a data credit for every 16 bytes begun.
  *
  * How often the host splits is its own affair: a read counts with as many completions as the read
  * completion boundary allows, and with less as they arrive.
  *
  * `pooled`: headers and data share one pool, a unit for each header and for every 16 bytes begun.
  */
case class CompletionCredits(pooled: Boolean = false) extends Component {
  val io = new Bundle {
    val offered = slave(Flow(ReadExtent())) // What waits to be claimed: the same until it is.
    val take    = slave(Flow(ReadExtent()))
    val give    = slave(Flow(SpaceReturn()))
    val fits    = out Bool ()               // The offered read does.
  }
  import CompletionCredits._

  case class Space() extends Bundle {
    val headers = UInt(4 bits)
    val data    = UInt(6 bits)
  }

  /** Pieces of 64 B or 128 B, and of 16 B, between two dword addresses less than 1 KiB apart. */
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

  // With room for this many of the largest reads nobody has to wait for exact numbers: so many may
  // be on their way into the counts.
  val plenty = RegNext(
    if (pooled) headers +^ data <= Data - Late * (MostHeaders + MostData)
    else headers <= Headers - Late * MostHeaders && data <= Data - Late * MostData
  ) init False

  // A read that has waited for as long meets counts that hold all those before it.
  val need    = RegNext(needs(io.offered.payload))
  val waited  = Reg(UInt(3 bits)) init 0
  val settled = waited === Late + 1
  when(!settled) { waited := waited + 1 }
  when(!io.offered.valid || io.take.valid) { waited := 0 }
  val room =
    if (pooled) (headers +^ data) +^ (need.headers +^ need.data) <= Data
    else headers +^ need.headers <= Headers && data +^ need.data <= Data
  val exact = RegNext(room && settled && io.offered.valid) init False
  io.fits := plenty || exact && io.offered.valid
}

object CompletionCredits {
  val Headers     = 256
  val Data        = 2048
  val MostHeaders = LargestRead.Bytes / 64 + 1
  val MostData    = LargestRead.Bytes / 16 + 1

  /** Claims that `plenty` does not know of yet, the one at hand included. */
  val Late = 4
}

/** The dwords that a read asks for. */
case class ReadExtent() extends Bundle {
  val address = UInt(8 bits) // Of the first, in dwords.
  val dwords  = UInt(8 bits)
  val rcb128  = Bool()
}
