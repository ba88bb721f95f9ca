// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.completer

import spinal.core._

import lanebox.vocabulary.Numbers

/** The descriptor of a request on CQ: the first four dwords of its first beat (PG213, "Completer
  * Request Descriptor").
  */
case class CqDescriptor() extends Bundle {
  val addressType  = Bits(2 bits)
  val address      = UInt(62 bits) // Dword address of the request.
  val dwords       = UInt(Numbers.DwordCountWidth bits)
  val kind         = Bits(4 bits)
  val reserved     = Bits(1 bits)
  val requester    = Bits(Numbers.IdWidth bits)
  val tag          = Bits(8 bits)
  val function     = Bits(8 bits)
  val bar          = UInt(3 bits)
  val aperture     = UInt(6 bits)  // The BAR has 1 << aperture bytes.
  val trafficClass = Bits(3 bits)
  val attributes   = Bits(3 bits)
  val unused       = Bits(1 bits)
}
