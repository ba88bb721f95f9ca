// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.mmio

import spinal.core._

import lanebox.pcie.{CompletionStatus, HardBlock}

/** A read for a slow target. */
case class TargetRead() extends Bundle {
  val slot            = UInt(MmioParameters.SlotWidth bits)
  val address         = UInt(30 bits) // In the target, in dwords.
  val left            = UInt(10 bits) // Dwords, less one.
  val firstBe, lastBe = Bits(4 bits)
}

/** A beat of a write for a slow target, with its data in lane order.
  *
  * Bytes that are not written have no mask bit, nor have bytes beyond the end of the payload.
  */
case class TargetWrite() extends Bundle {
  val address = UInt(30 bits) // The beat's address in the target, in dwords.
  val data    = Bits(HardBlock.DataWidth bits)
  val mask    = Bits(HardBlock.DataWidth / 8 bits)
  val first   = Bool()
  val last    = Bool()
  val rows    = UInt(6 bits)  // With the first beat: rows of the target that the write touches.
  val spills  = Bool()        // With the last beat: its end is in the row after it.
}

/** A request in the cycle in which it comes, for a target that is idle and may begin it at once: a
  * read, or a write of one whole dword.
  */
case class TargetStart() extends Bundle {
  val write = Bool()
  val read  = TargetRead()  // For a write only its address is valid.
  val data  = Bits(32 bits) // The dword to be written.
}

/** What the completion builder fetches from a lane memory and sends as completions.
  *
  * `left` counts from the start of this fetch to the end of the request. The last four bits of
  * `row` are those of the address: completions are cut where they are all ones.
  */
case class Fetch(p: MmioParameters) extends Bundle {
  val slot = UInt(MmioParameters.SlotWidth bits)
  // Number of the lane memory.
  val source   = UInt(p.sourceWidth bits)
  val row      = UInt(p.rowWidth bits)
  val shift    = UInt(3 bits)
  val left     = UInt(10 bits) // Dwords, less one.
  val firstGap = UInt(2 bits)  // Bytes in front of the first enabled one in its dword.
  val lastGap  = UInt(2 bits)  // Bytes behind the last enabled one in its dword.
  val status   = Bits(3 bits)
  val onePiece = Bool()        // Ends with its piece; more fetches of the request follow.
  val closes   = Bool()        // The last fetch of its request.

  def isError = status =/= CompletionStatus.Success
}

/** Byte enables, base specification 2.2.5 and 2.3.1.1. */
object ByteEnables {

  /** Bytes in front of the first enabled one. */
  def firstGap(be: Bits): UInt = be.mux(
    M"---1" -> U(0, 2 bits),
    M"--10" -> U(1, 2 bits),
    M"-100" -> U(2, 2 bits),
    M"1000" -> U(3, 2 bits),
    default -> U(0, 2 bits)
  )

  /** Bytes behind the last enabled one; 3 if none is, since a zero-length read counts one byte. */
  def lastGap(be: Bits): UInt = be.mux(
    M"1---" -> U(0, 2 bits),
    M"01--" -> U(1, 2 bits),
    M"001-" -> U(2, 2 bits),
    default -> U(3, 2 bits)
  )
}

/** Kinds of error. */
object MmioErrorKind extends SpinalEnum(binarySequential) {
  val none          = newElement()
  val unmappedRead  = newElement() // No window holds it: answered with Unsupported Request.
  val unmappedWrite = newElement() // No window holds it: dropped.
  // A write to a memory that cannot be written: dropped.
  val readOnly = newElement()
  val busError = newElement() // The bus reported an error; a read ends with Completer Abort.
  val timeout  = newElement() // The bus did not answer; a read ends with Completer Abort.
  val held     = newElement() // The bus took no writes for so long that this one was dropped.
  val partial  = newElement() // A write of some bytes of a dword on Wishbone: not carried out.
}

/** An error as it happens. */
case class MmioError() extends Bundle {
  val kind  = MmioErrorKind()
  val write = Bool()
  val count = UInt(6 bits) // Requests that failed with it.
  // In bytes. For busError, timeout and partial the address in the target, else the offset in the
  // BAR.
  val address = UInt(32 bits)
}
