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

/** A beat of a write for a slow target, turned as the lanes are.
  *
  * Bytes that are not written have no mask bit, those beyond the end of the payload included.
  */
case class TargetWrite() extends Bundle {
  val address = UInt(30 bits) // In the target, in dwords, of the beat.
  val data    = Bits(HardBlock.DataWidth bits)
  val mask    = Bits(HardBlock.DataWidth / 8 bits)
  val first   = Bool()
  val last    = Bool()
  val rows    = UInt(6 bits)  // With the first beat: rows of the target that the write touches.
  val spills  = Bool()        // With the last beat: it reaches into one row more.
}

/** A request as it comes: a read, or a write of one whole dword, for a target that may begin it. */
case class TargetStart() extends Bundle {
  val write = Bool()
  val read  = TargetRead()  // Its address is that of the dword, too.
  val data  = Bits(32 bits) // To be written.
}

/** What the completion builder is to fetch from one of the lane memories, and to answer.
  *
  * `left` counts from this fetch's start to the end of the request; the last four bits of `row` are
  * those of the address, since that is where completions are cut.
  */
case class Fetch(p: MmioParameters) extends Bundle {
  val slot     = UInt(MmioParameters.SlotWidth bits)
  val source   = UInt(p.sourceWidth bits)
  val row      = UInt(p.rowWidth bits)
  val shift    = UInt(3 bits)
  val left     = UInt(10 bits) // Dwords, less one.
  val firstGap = UInt(2 bits)  // Bytes in front of the first enabled one in its dword.
  val lastGap  = UInt(2 bits)  // Bytes behind the last enabled one in its dword.
  val status   = Bits(3 bits)
  val onePiece = Bool()        // The rest of the request is fetched by others to come.
  val closes   = Bool()        // Nothing comes behind this.

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

  /** Bytes behind the last enabled one; of a zero-length read one byte counts. */
  def lastGap(be: Bits): UInt = be.mux(
    M"1---" -> U(0, 2 bits),
    M"01--" -> U(1, 2 bits),
    M"001-" -> U(2, 2 bits),
    default -> U(3, 2 bits)
  )
}

/** What went wrong last. */
object MmioErrorKind extends SpinalEnum(binarySequential) {
  val none          = newElement()
  val unmappedRead  = newElement() // Answered with Unsupported Request.
  val unmappedWrite = newElement() // Dropped, as everything below that is written.
  val readOnly      = newElement()
  val busError      = newElement() // A slow target said so; a read ends with Completer Abort.
  val timeout       = newElement() // It did not answer; likewise.
  val held          = newElement() // It took no writes for so long that they are dropped.
  val partial       = newElement() // Some bytes of a dword: the bus has registers.
}

/** An error as it happens. */
case class MmioError() extends Bundle {
  val kind    = MmioErrorKind()
  val write   = Bool()
  val count   = UInt(6 bits)  // Requests that it befell.
  val address = UInt(32 bits) // Offset in the BAR if nothing is mapped, else in the target.
}
