// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.vocabulary.targets

import spinal.core._

import lanebox.vocabulary.Numbers

/** The fields of a host's request that its error completion repeats, beside those in RequesterId
  * (PG213, "Completer Completion Descriptor").
  */
case class ErrorInformation() extends Bundle {
  val address         = UInt(64 bits)
  val dwords          = UInt(Numbers.DwordCountWidth bits)
  val firstBe, lastBe = Bits(4 bits)
}
