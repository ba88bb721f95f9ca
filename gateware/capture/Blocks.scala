// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture

import spinal.core._

import lanebox.vocabulary.{FrameHead, Frames}

/** The kinds of block that RecordBuilder makes. */
object BlockKind extends SpinalEnum(binarySequential) {
  val record = newElement() // An Enhanced Packet Block with the next frame's data.
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

/** The description of one pcapng block, from which its bytes are made. */
case class Block() extends Bundle {
  val kind = BlockKind()
  val units =
    UInt(CaptureParam.BlockWidth bits) // Size of the block in units of 8 bytes; unused in `lost`.
  val head = FrameHead() // The frame's head, in the kinds `record` and `lost`.
  val dwords = UInt(Frames.LengthWidth - 1 bits) // Dwords of data in a record.
  val flagged, counting =
    Bool() // The record has the option epb_flags, or the option epb_dropcount.
  val drops = UInt(32 bits)
  val seal  = Seal()
}

/** The fates of a frame that reaches the capture. Each frame has exactly one. */
object Fate extends SpinalEnum(binarySequential) {
  val delivered  = newElement()
  val bad        = newElement() // The frame's source has marked it as faulty.
  val lostRing   = newElement() // The ring had no room below the limit.
  val lostNoCell = newElement() // The staging memory had no room.
}

/** The fate of one frame, for Accounts. */
case class FrameFate() extends Bundle {
  val fate  = Fate()
  val port  = UInt(Frames.PortWidth bits)
  val bytes = UInt(16 bits) // Bytes of the frame at its source.
}

object BlockType {
  val Record = BigInt(6)
  // The block types of filler and seal are for local use. Programs that read pcapng skip blocks of
  // such types without a warning.
  val Seal   = BigInt("80004c42", 16)
  val Filler = BigInt("80004c46", 16)

  /** The third dword of a seal, by which a reader knows it: the letters "LB" and version 1. */
  val SealMagic = 0x4c420001

  /** The first dword of each option: its code in the lower half, its length in bytes in the upper.
    */
  val FlagsOption = 0x00040002
  val DropsOption = 0x00080004
}
