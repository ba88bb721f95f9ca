// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.vocabulary

import spinal.core.isPow2

/** A BAR window: `size` bytes of a BAR, from offset `base` on, show the target's bytes from its own
  * address `targetBase` on.
  *
  * For the Completer `target` is the number of a port. For the MMIO bridge it is a name.
  */
case class Window[T](bar: Int, base: BigInt, size: BigInt, target: T, targetBase: BigInt = 0) {
  import Window.Page

  require(bar >= 0 && bar <= 6, s"$this: a window needs one of BAR 0 to 5, or 6 for the ROM")
  require(
    size > 0 && Seq(base, size, targetBase).forall(_ % Page == 0),
    s"$this: not whole pages of $Page bytes. No request crosses a page, so none leaves its window"
  )
  require(base + size <= (BigInt(1) << 32), s"$this: it must end within 4 GiB")

  override def toString: String =
    f"window at BAR$bar + 0x$base%x of 0x$size%x bytes onto $target + 0x$targetBase%x"

  def overlaps(other: Window[_]): Boolean =
    bar == other.bar && base < other.base + other.size && other.base < base + size

  /** Returns whether hardware can compute the address in the target from the offset in the BAR
    * without an adder.
    */
  def aligned: Boolean = isPow2(size) && base % size == 0 && targetBase % size == 0

  /** Cuts the window into aligned blocks whose sizes are powers of two. Returns (base, size) of
    * each block, in bytes. Hardware compares an address with such blocks without an adder.
    */
  def blocks: Seq[(BigInt, BigInt)] = {
    def cut(from: BigInt, left: BigInt): List[(BigInt, BigInt)] =
      if (left == 0) Nil
      else {
        val aligned = if (from == 0) BigInt(1) << 32 else from & -from
        val block   = aligned min (BigInt(1) << (left.bitLength - 1))
        (from, block) :: cut(from + block, left - block)
      }
    cut(base, size)
  }
}

object Window {

  /** The bytes of a page (4 KiB). Base and size of a window are multiples of a page. */
  val Page = Numbers.PageBytes

  /** Throws an error if two of the windows overlap. */
  def requireDisjoint(windows: Seq[Window[_]]): Unit =
    for (pair <- windows.combinations(2))
      require(!pair(0).overlaps(pair(1)), s"${pair(0)} overlaps the ${pair(1)}")

  /** Parses a window written as `BAR,BASE,SIZE,TARGET[,TARGETBASE]`. */
  def parse[T](text: String)(target: String => T): Window[T] = {
    import Arguments.number
    text.split(",") match {
      case Array(bar, base, size, name, more @ _*) if more.size <= 1 =>
        val targetBase = more.headOption.fold(BigInt(0))(number)
        Window(number(bar).toInt, number(base), number(size), target(name), targetBase)
      case _ =>
        throw new IllegalArgumentException(s"window $text: not BAR,BASE,SIZE,TARGET[,TARGETBASE]")
    }
  }
}
