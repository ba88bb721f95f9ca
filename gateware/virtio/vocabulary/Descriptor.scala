// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.vocabulary

import spinal.core._

/** A descriptor as host memory has it (VirtIO 1.2, 2.7.5). */
case class Descriptor() extends Bundle {
  val address  = UInt(64 bits)
  val bytes    = UInt(32 bits)
  val more     = Bool()
  val write    = Bool()
  val indirect = Bool()
  val reserved = Bits(13 bits)
  val next     = UInt(16 bits)

  /** Returns what is wrong with the descriptor. `limit` is the number of descriptors in its table.
    * `inTable` says that this is an indirect table.
    */
  def faults(
      transmit: Boolean,
      features: RingFeatures,
      limit: UInt,
      inTable: Bool
  ): Descriptor.Faults = {
    val found  = Descriptor.Faults()
    val ragged = bytes(3 downto 0) =/= 0 || bytes === 0
    found.badTable := !features.indirect || inTable || more || ragged
    found.empty    := bytes === 0
    found.wrongWay := write === Bool(transmit)
    found.badNext  := more && next >= limit
    found
  }

  /** Returns whether this is a plain buffer: alone in its chain. One of a transmit queue has bytes
    * behind the header of a frame, and has room in a frame store.
    */
  def isPlain(transmit: Boolean): Bool = {
    import VirtioParam.{PlainBytes, PlainLeast}
    val fits = if (transmit) bytes < PlainBytes && bytes >= PlainLeast else True
    fits && !more && write =/= Bool(transmit) && !indirect
  }
}

object Descriptor {

  /** Returns the descriptor whose 16 bytes are `word`. */
  def apply(word: Bits): Descriptor = {
    val descriptor = Descriptor()
    descriptor.assignFromBits(word)
    descriptor
  }

  /** Rules that a descriptor breaks. `badTable` is only for one that names an indirect table, and
    * the others are only for one of a buffer.
    */
  case class Faults() extends Bundle {
    // The table is nested, empty, not of whole descriptors, not agreed on, or not alone.
    val badTable = Bool()
    val empty    = Bool()
    val wrongWay = Bool()
    val badNext  = Bool()
  }
}
