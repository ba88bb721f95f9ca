// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.vocabulary

import spinal.core._
import spinal.lib._

/** The streams and side-band pins of the PCIE4 hard block (PG213, "Designing with the core").
  *
  * The fields of the pins `tuser` have names in the four streams RQ, RC, CQ and CC.
  * gateware/phy/pins.py says which bits of `tuser` they are.
  */
object HardBlock {
  val DataWidth = Numbers.DataWidth
  val Dwords    = Numbers.DwordsPerBeat
  val BeatBytes = Numbers.BeatBytes

  // The bit ranges of the two halves of a beat. A descriptor of CQ or RQ fills the lower half.
  val LowerHalf = DataWidth / 2 - 1 downto 0
  val UpperHalf = DataWidth - 1 downto DataWidth / 2

  def Rq() = Stream(Fragment(RqBeat()))
  def Rc() = Stream(Fragment(RcBeat()))
  def Cq() = Stream(Fragment(CqBeat()))
  def Cc() = Stream(Fragment(CcBeat()))

  /** A beat on RQ, the stream on which the card sends its requests. `keep` has one bit for each
    * dword of the beat.
    */
  case class RqBeat() extends Bundle {
    val data            = Bits(DataWidth bits)
    val keep            = Bits(Dwords bits)
    val firstBe, lastBe = Bits(4 bits) // Byte enables, valid with a request's first beat.
    // The request's sequence number, valid with its first beat. The hard block gives the number
    // back (SequencePins) when the request has left for the link.
    val sequence = UInt(Numbers.SequenceWidth bits)
  }

  /** Says whether a completion ends in an RC beat, and in which of the beat's dwords. */
  case class EndOfFrame() extends Bundle {
    val valid = Bool()
    val dword = UInt(3 bits) // The dword of the beat (0 to 7) that is the completion's last.
  }

  /** A beat on RC, the stream that brings the completions of the card's reads. With the hard
    * block's straddle option a second completion may start at dword 4 of a beat.
    *
    * With straddle `last` and `keep` mean nothing; `start` and `end` say where completions begin
    * and end.
    */
  case class RcBeat() extends Bundle {
    val data       = Bits(DataWidth bits)
    val keep       = Bits(Dwords bits)
    val byteEnable = Bits(BeatBytes bits) // Bit i: byte i of the beat is payload.
    // start(0): a completion begins in this beat, at dword 0, or at dword 4 if another completion
    // ends before it. start(1): a second completion begins, at dword 4.
    val start       = Vec(Bool(), 2)
    val end         = Vec(EndOfFrame(), 2)
    val discontinue = Bool() // The hard block cut the completion short after an internal error.
  }

  /** A beat on CQ, the stream that brings the host's requests. */
  case class CqBeat() extends Bundle {
    val data            = Bits(DataWidth bits)
    val keep            = Bits(Dwords bits)
    val firstBe, lastBe = Bits(4 bits) // Byte enables, valid with a request's first beat.
    val byteEnable      = Bits(BeatBytes bits)
    val start           = Bool()
    val discontinue     = Bool()
  }

  /** A beat on CC, the stream on which the card sends completions of the host's reads. */
  case class CcBeat() extends Bundle {
    val data = Bits(DataWidth bits)
    val keep = Bits(Dwords bits)
  }

  /** The settings that the host has programmed in the card's configuration space. `extendedTags`
    * comes from ConfigWatch, all others from the hard block's cfg_* pins.
    */
  case class LinkSettings() extends Bundle {
    val maxPayload     = UInt(3 bits) // Max_Payload_Size is 128 << maxPayload bytes.
    val maxReadRequest = UInt(3 bits) // Max_Read_Request_Size is 128 << maxReadRequest bytes.
    val rcb128         = Bool()       // The read completion boundary is 128 bytes instead of 64.
    val extendedTags   = Bool()
    val busMaster      = Bool()
  }

  /** The sequence numbers of requests that have left the hard block, up to two in a cycle: the pins
    * pcie_rq_seq_num0 and pcie_rq_seq_num1.
    */
  case class SequencePins() extends Bundle {
    val numbers = Vec(Flow(UInt(Numbers.SequenceWidth bits)), 2)
  }
}
