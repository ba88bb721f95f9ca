// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.vocabulary.targets

import spinal.core._

import lanebox.vocabulary.{HardBlock, Numbers}

/** A beat of a completion for the host. `valid` must stay high from a completion's first to its
  * last beat (PG213, CC interface).
  *
  * All fields but `data` stay the same on every beat. With an error status there is one beat and no
  * data.
  */
case class TargetCompletion() extends Bundle {
  val requester    = RequesterId()
  val status       = Bits(3 bits)
  val lowerAddress = UInt(7 bits) // Lowest 7 bits of the first enabled byte's address.
  // Bytes of the read that are still to be sent, those of this completion included: 1 to 4096.
  val byteCount = UInt(Numbers.ByteCountWidth bits)
  val dwords    = UInt(Numbers.DwordCountWidth bits)
  val final_    = Bool() // The last completion of its request: it frees the credit.
  // Only used with an error status: the hard block logs these fields.
  val request = ErrorInformation()
  val data    = Bits(HardBlock.DataWidth bits) // Dword 0 is in lane 0 of the first beat.
}
