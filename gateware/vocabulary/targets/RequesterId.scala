// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.vocabulary.targets

import spinal.core._

import lanebox.vocabulary.Numbers

/** The fields of a host's request that the card's completions of it repeat. */
case class RequesterId() extends Bundle {
  val id           = Bits(Numbers.IdWidth bits)
  val tag          = Bits(Numbers.TagWidth bits)
  val trafficClass = Bits(3 bits)
  val attributes   = Bits(3 bits)
  val function     = Bits(8 bits)
}
