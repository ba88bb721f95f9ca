// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** The PCIE4 hard block's four streams at 256 bit, PG213 chapter "Designing with the core".
  *
  * Names instead of tuser positions: lanebox.phy.pcie4 says which bit is which.
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
  val sequence        = UInt(6 bits) // With the first beat: comes back when the request has left.
}

/** Where a completion ends in a beat. */
case class EndOfFrame() extends Bundle {
  val valid = Bool()
  val dword = UInt(3 bits) // Of the last one.
}

/** Completions for the card; with straddle a second one may start at dword 4.
  *
  * `last` and `keep` mean nothing with straddle: `start` and `end` tell.
  */
case class RcBeat() extends Bundle {
  val data       = Bits(HardBlock.DataWidth bits)
  val keep       = Bits(HardBlock.Dwords bits)
  val byteEnable = Bits(HardBlock.DataWidth / 8 bits) // Payload bytes of the beat.
  val start       = Vec(Bool(), 2) // 0: at dword 0, or at 4 if it is the only one; 1: at dword 4.
  val end         = Vec(EndOfFrame(), 2)
  val discontinue = Bool()         // An internal error cut the completion short.
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

/** What the host has programmed, as the hard block's cfg_* pins and the configuration watch say. */
case class LinkSettings() extends Bundle {
  val maxPayload     = UInt(3 bits) // 128 B << this.
  val maxReadRequest = UInt(3 bits) // 128 B << this.
  val rcb128         = Bool()       // Read completion boundary: 128 B instead of 64 B.
  val extendedTags   = Bool()
  val busMaster      = Bool()
}

/** A request number that has left the block towards the link: pcie_rq_seq_num0 and 1. */
case class SequencePins() extends Bundle {
  val numbers = Vec(Flow(UInt(6 bits)), 2)
}
