// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.vocabulary

import spinal.core._

/** A beat of the data that the card has read from host memory. A client always gets as many beats
  * as it asked for. Beats of a read that failed are zero.
  *
  * All fields but `data` and `error` stay the same on every beat of a read. `error` is about its
  * own beat.
  */
case class ReadData() extends Bundle {
  val data = Bits(HardBlock.DataWidth bits) // The request's dword 0 is in lane 0 of beat 0.
  // Dwords of the client's whole request.
  val dwords  = UInt(Numbers.DwordCountWidth bits)
  val context = Bits(Numbers.ContextWidth bits)
  val error   = ReadError()
}
