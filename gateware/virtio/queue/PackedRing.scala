// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.queue

import spinal.core._

import lanebox.virtio.vocabulary.Descriptor

/** A packed ring (VirtIO 1.2, 2.8) of `size` descriptors, a power of two.
  *
  * An index counts descriptors. It is 16 bits wide and wraps, as those of split rings do. So its
  * lowest bits are a place in the ring, and the bit above is 0 while the wrap counter is 1.
  */
object PackedRing {
  // Bits of a descriptor's flags, and their place in a descriptor.
  val Available = 7
  val Used      = 15
  val FlagsAt   = 112

  /** Flags of an event structure. Without any of them the other side wants all events. */
  val Never   = 1
  val AtPlace = 2

  private def within(index: UInt, size: UInt): UInt = index & (size.resize(16) - 1).resized

  /** Returns the wrap counter with which the descriptor at this index is written. */
  def wrap(index: UInt, size: UInt): Bool = (index.resize(16) & size.resize(16)) === 0

  /** Returns the place of an index and its wrap counter, as event structures and notifications have
    * them.
    */
  def place(index: UInt, size: UInt): Bits = wrap(index, size) ## within(index, size).resize(15)

  /** Returns how far the place `place` is ahead of `index`, modulo twice the size of the ring. */
  def ahead(place: UInt, index: UInt, size: UInt): UInt = {
    val there = within(place.resize(15).resize(16), size) | (place.msb ? U(0, 16 bits) | size
      .resize(16))
    (there - index) & lap(size)
  }

  /** Returns the mask of an index that goes twice around the ring. */
  def lap(size: UInt): UInt = ((size.resize(17) << 1) - 1).resize(16)

  /** Returns whether the 16 bytes of a descriptor, at this index, are those of an available one. */
  def isAvailable(word: Bits, index: UInt, size: UInt): Bool = {
    val now = wrap(index, size)
    word(FlagsAt + Available) === now && word(FlagsAt + Used) =/= now
  }

  /** Returns the ID in the 16 bytes of a descriptor. */
  def id(word: Bits): UInt = word(FlagsAt - 16, 16 bits).asUInt

  /** Returns the 16 bytes of a descriptor in the format of split rings. An entry of an indirect
    * table has only one flag. There `next` is the entry behind it, if `more` says that it has one.
    */
  def descriptor(word: Bits, inTable: Bool, more: Bool, next: UInt): Descriptor = {
    val found = Descriptor()
    found.address  := word(63 downto 0).asUInt
    found.bytes    := word(95 downto 64).asUInt
    found.more     := inTable ? more | word(FlagsAt)
    found.write    := word(FlagsAt + 1)
    found.indirect := word(FlagsAt + 2) && !inTable
    found.reserved := 0
    found.next     := next
    found
  }

  /** Returns the upper half of a descriptor that the device has used: how many bytes were written,
    * ID and flags. The flags are in the last bytes, so the host never sees them ahead of the rest.
    */
  def element(bytes: Bits, id: Bits, wrap: Bool, writes: Boolean): Bits =
    wrap ## B(0, 7 bits) ## wrap ## B(0, 5 bits) ## Bool(writes) ## False ## id.resize(16) ## bytes
      .resize(32)
}
