// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.player

import spinal.core._

import lanebox.capture.record.RecordSizer
import lanebox.vocabulary.{Frames, HardBlock, Numbers}

/** Sizes of the player, the source of frames that reads pcapng. */
object PlayerParam {

  val BlockWidth = Numbers.PlayerBlockBits

  /** The dwords of an Enhanced Packet Block in front of its packet, and its bytes without the
    * packet.
    */
  val HeaderDwords = RecordSizer.HeaderDwords
  val FrameBytes   = 4 * RecordSizer.Frame

  val StoreBeats  = Numbers.PlayerStoreBeats
  val StoreFrames = Numbers.PlayerStoreFrames
  require(StoreBeats * Frames.BeatBytes >= (2 << Frames.LengthWidth))

  /** The beats and frames that may still come after the store has said that it is full. */
  val Margin = 8

  // Bits of a number of dwords in a beat, and of a beat's data.
  val LaneWidth = log2Up(HardBlock.Dwords)
  val DataWidth = HardBlock.DataWidth
}
