// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture

import spinal.core._

import lanebox.vocabulary.Frames

/** The description of one pcapng block, from which its bytes are made. */
case class Block() extends Bundle {
  val kind = Block.Kind()
  val head = Frames.Head() // The frame's head, in the kinds `packet` and `lost`.
  // Size of the block in units of 8 bytes; unused in `lost`.
  val units  = UInt(CaptureParam.BlockWidth bits)
  val dwords = UInt(Frames.LengthWidth - 1 bits) // Dwords of data in a record.
  // The record has the option epb_flags, or the option epb_dropcount.
  val flagged, counting = Bool()
  val drops             = UInt(32 bits)
  val seal              = Block.Seal()
}

object Block {

  /** The kinds of block that RecordBuilder makes. */
  object Kind extends SpinalEnum(binarySequential) {
    setName("BlockKind") // Verilog has no `Block.` in front of it.
    val packet = newElement() // An Enhanced Packet Block with the next frame's data.
    val lost   = newElement() // No block: the data of the next frame is dropped.
    val filler = newElement() // A block of zeros.
    val seal   = newElement() // The last block of an MBUF.
  }

  /** The reasons for which an MBUF (a part of the capture ring) is sealed. */
  object SealReason extends SpinalEnum(binarySequential) {
    val full    = newElement()
    val asked   = newElement()
    val stopped = newElement()
  }

  /** The contents of a seal, the last block of an MBUF. All counts are since the start of the
    * capture.
    */
  case class Seal() extends Bundle {
    val reason  = SealReason()
    val number  = UInt(64 bits) // The MBUF's number, from 0 on.
    val time    = UInt(64 bits)
    val records = UInt(64 bits) // Records written so far.
    val bytes   = UInt(64 bits) // Bytes that the frames of these records had at their source.
    // Frames lost because the ring was full, or because the staging memory was, modulo 2^32.
    val lostRing, lostNoCell = UInt(32 bits)
  }
}
