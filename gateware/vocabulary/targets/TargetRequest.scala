// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.vocabulary.targets

import spinal.core._

import lanebox.vocabulary.{HardBlock, Numbers}

/** A beat of a host's memory request to a BAR, with the byte enables as PG213 gives them.
  *
  * All fields but `data` stay the same on every beat. A write brings payload dword 0 in lane 0.
  * `window` has one bit for each BAR window of the target's port, in the order in which the windows
  * were given. The bit of the window that holds the request is set.
  */
case class TargetRequest() extends Bundle {
  val write           = Bool()
  val bar             = UInt(3 bits)
  val window          = Bits(TargetRequest.Windows bits)
  val offset          = UInt(32 bits)                      // Byte offset in the BAR, dword aligned.
  val dwords          = UInt(Numbers.DwordCountWidth bits) // Dwords of the request: 1 to 1024.
  val firstBe, lastBe = Bits(4 bits)
  // The byte address that the host gave, which an error completion repeats.
  val address   = UInt(64 bits)
  val requester = RequesterId()
  val data      = Bits(HardBlock.DataWidth bits)
}

object TargetRequest {

  /** The most BAR windows that one port may have. */
  val Windows = Numbers.TargetWindows
}
