// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.mmio

import spinal.core._

import lanebox.vocabulary.{CompletionStatus, HardBlock}

/** A read by the host that MmioBridge hands to a slow target: the Wishbone or the AXI4 bus. */
case class TargetRead() extends Bundle {
  val slot            = UInt(MmioParameters.SlotWidth bits)
  val address         = UInt(30 bits) // Dword address in the target.
  val left            = UInt(10 bits) // Dwords to read, less one.
  val firstBe, lastBe = Bits(4 bits)
}

/** A beat of a write by the host that MmioBridge hands to a slow target (Wishbone or AXI4). The
  * dword with address a is in lane a mod 8.
  *
  * `mask` has a bit for each byte of the beat. The bit is set if the byte is written. It is 0 for a
  * byte that is not enabled or is beyond the end of the payload.
  */
case class TargetWrite() extends Bundle {
  val address = UInt(30 bits) // Dword address in the target of the beat's first dword.
  val data    = Bits(HardBlock.DataWidth bits)
  val mask    = Bits(HardBlock.BeatBytes bits)
  val first   = Bool()
  val last    = Bool()
  val rows    = UInt(6 bits)  // Valid with the first beat: rows of 32 bytes that the write touches.
  val spills  = Bool()        // Valid with the last beat: the beat reaches into a second row.
}

/** A request of the host for a slow target, a cycle before it comes as TargetRead or TargetWrite.
  * An idle target may begin the request at once. It is a read, or a write of one whole dword.
  */
case class TargetStart() extends Bundle {
  val write = Bool()
  val read  = TargetRead()  // The read; for a write only `read.address` is valid.
  val data  = Bits(32 bits) // For a write: the dword to be written.
}

/** An order to CompletionBuilder: fetch data from a lane memory (32 bytes a row) and send it as
  * completions.
  *
  * `left` counts from the start of this fetch to the end of the request. The last four bits of
  * `row` are bits 5 to 8 of the byte address. A completion ends with the row in which these bits
  * are all ones, as far as they are below the largest payload size.
  */
case class Fetch(p: MmioParameters) extends Bundle {
  val slot = UInt(MmioParameters.SlotWidth bits)
  // The number of the lane memory that the data is fetched from (MmioParameters).
  val source   = UInt(p.sourceWidth bits)
  val row      = UInt(p.rowWidth bits)
  val shift    = UInt(3 bits)  // Lane of the row in which the data begins.
  val left     = UInt(10 bits) // Dwords to the end of the request, less one.
  val firstGap = UInt(2 bits)  // Bytes of the first dword before the first enabled byte.
  val lastGap  = UInt(2 bits)  // Bytes of the last dword after the last enabled byte.
  val status   = Bits(3 bits)
  val onePiece = Bool()        // The fetch gives one completion; its request may have more fetches.
  val closes   = Bool()        // The fetch is the last one of its request.

  def isError = status =/= CompletionStatus.Success
}
