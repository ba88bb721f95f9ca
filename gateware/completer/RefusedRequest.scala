// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.completer

import spinal.core._

import lanebox.vocabulary.Numbers
import lanebox.vocabulary.targets.RequesterId

/** The fields of a refused request of the host that are kept until the request is answered. */
case class RefusedRequest() extends Bundle {
  val kind            = Bits(4 bits)
  val address         = UInt(64 bits)
  val dwords          = UInt(Numbers.DwordCountWidth bits)
  val firstBe, lastBe = Bits(4 bits)
  val requester       = RequesterId()
}
