// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** The PCIE4 hard block's four streams at 256 bit, PG213 chapter "Designing with the core".
  *
  * Fields of tuser have names here. lanebox.phy.pcie4 says which bit each one is.
  */
object HardBlock {
  val DataWidth = 256
  val Dwords    = DataWidth / 32

  def Rq() = Stream(Fragment(RqBeat()))
  def Rc() = Stream(Fragment(RcBeat()))
  def Cq() = Stream(Fragment(CqBeat()))
  def Cc() = Stream(Fragment(CcBeat()))
}

/** Requests by the card. `keep` has one bit for each dword. */
case class RqBeat() extends Bundle {
  val data            = Bits(HardBlock.DataWidth bits)
  val keep            = Bits(HardBlock.Dwords bits)
  val firstBe, lastBe = Bits(4 bits) // With the first beat.
  // With the first beat. The block gives it back when the request has left for the link.
  val sequence = UInt(6 bits)
}

/** Where a completion ends in a beat. */
case class EndOfFrame() extends Bundle {
  val valid = Bool()
  val dword = UInt(3 bits) // The completion's last dword in this beat.
}

/** Completions for the card. With straddle a second completion may start at dword 4.
  *
  * With straddle `last` and `keep` mean nothing; `start` and `end` say where completions begin and
  * end.
  */
case class RcBeat() extends Bundle {
  val data       = Bits(HardBlock.DataWidth bits)
  val keep       = Bits(HardBlock.Dwords bits)
  val byteEnable = Bits(HardBlock.DataWidth / 8 bits) // Which bytes of the beat are payload.
  // start(0): a completion begins at dword 0, or at dword 4 if only one begins. start(1): a second
  // one begins at dword 4.
  val start       = Vec(Bool(), 2)
  val end         = Vec(EndOfFrame(), 2)
  val discontinue = Bool() // The block cut the completion short: an internal error.
}

/** Requests by the host. */
case class CqBeat() extends Bundle {
  val data            = Bits(HardBlock.DataWidth bits)
  val keep            = Bits(HardBlock.Dwords bits)
  val firstBe, lastBe = Bits(4 bits) // With the first beat.
  val byteEnable      = Bits(HardBlock.DataWidth / 8 bits)
  val start           = Bool()
  val discontinue     = Bool()
}

/** Completions for the host. */
case class CcBeat() extends Bundle {
  val data = Bits(HardBlock.DataWidth bits)
  val keep = Bits(HardBlock.Dwords bits)
}

/** What the host has programmed: from the hard block's cfg_* pins and from ConfigWatch. */
case class LinkSettings() extends Bundle {
  val maxPayload     = UInt(3 bits) // 128 B << this.
  val maxReadRequest = UInt(3 bits) // 128 B << this.
  val rcb128         = Bool()       // Read completion boundary: 128 B instead of 64 B.
  val extendedTags   = Bool()
  val busMaster      = Bool()
}

/** Sequence numbers of requests that have left the block: pins pcie_rq_seq_num0 and 1. */
case class SequencePins() extends Bundle {
  val numbers = Vec(Flow(UInt(6 bits)), 2)
}
