// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.record

import spinal.core._

import lanebox.capture.vocabulary.CaptureParam
import lanebox.vocabulary.Frames

/** Describes one pcapng block, of which RecordBuilder then makes the bytes. */
case class Block(queueWidth: Int = 0) extends Bundle {
  val kind  = Block.Kind()
  val queue = UInt(queueWidth bits) // The queue into whose ring the block goes.
  val head = Frames.Head() // Head of the block's frame; only used in the kinds `packet` and `lost`.
  // Size of the block in units of 8 bytes; unused in `lost`.
  val units  = UInt(CaptureParam.BlockWidth bits)
  val dwords = UInt(Frames.LengthWidth - 1 bits) // Dwords of frame data in a record.
  // The block is a record with the pcapng option epb_flags, or epb_dropcount.
  val flagged, counting = Bool()
  val drops             = UInt(32 bits)
  val seal              = Block.Seal()
}

object Block {

  object Kind extends SpinalEnum(binarySequential) {
    // In Verilog the enum would be called `Kind` otherwise.
    setName("BlockKind")
    val packet = newElement() // A record: an Enhanced Packet Block with the data of the next frame.
    val lost   = newElement() // No block: the data of the next frame is dropped.
    val filler = newElement() // A block of zeros, which fills the space in front of a seal.
    val seal   = newElement() // The last block of an MBUF (a part of the capture ring).
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
    val records = UInt(64 bits)
    val bytes   = UInt(64 bits) // Bytes that the frames of these records had at their source.
    // Frames lost to a full ring, and frames lost to a full staging memory, modulo 2^32.
    val lostRing, lostNoCell = UInt(32 bits)
  }
}
