// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.player

import spinal.core._

import lanebox.vocabulary.{Frames, HardBlock}

/** Sizes of the player, the source of frames that reads pcapng. */
object PlayerParam {

  /** The width of a block's length in bytes: a block has less than 16 MiB, as in Wireshark. */
  val BlockWidth = 24

  /** The dwords of an Enhanced Packet Block before its packet, and those beside it. */
  val HeaderDwords = 7
  val FrameBytes   = 4 * (HeaderDwords + 1)

  /** The beats and the frames that wait in the player's store. Two frames of the largest size fit.
    */
  val StoreBeats  = 1024
  val StoreFrames = 64
  require(StoreBeats * Frames.BeatBytes >= (2 << Frames.LengthWidth))

  /** The beats and frames that may still come after the store has said that it is full. */
  val Margin = 8

  // Bits of a number of dwords in a beat, and of a beat's data.
  val LaneWidth = log2Up(HardBlock.Dwords)
  val DataWidth = HardBlock.DataWidth
}
