// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import scala.collection.immutable.ArraySeq
import scala.collection.mutable
import scala.util.Random

/** Memory of the modelled host, with the rights that the device has to each byte. */
class HostMemory(random: Random) {
  import HostMemory._
  private val pages = mutable.LongMap[Page]()
  private var top   = (random.nextLong() & 0x3fffffL) << 32
  // The page of the last access, and its number.
  private var number = -1L
  private var recent = new Page

  private def page(at: Long): Page = {
    val wanted = at >>> PageBits
    if (wanted != number) {
      number = wanted
      recent = pages.getOrElseUpdate(wanted, new Page)
    }
    recent
  }
  private def offset(at: Long): Int           = (at & PageBytes - 1).toInt
  private def byte(at: Long): Byte            = page(at).bytes(offset(at))
  private def set(at: Long, byte: Byte): Unit = page(at).bytes(offset(at)) = byte
  private def right(at: Long): Int            = page(at).rights(offset(at))

  /** Returns the address of new memory, behind all older memory: `shift` bytes behind a multiple of
    * `align`.
    */
  def make(size: Int, align: Int, shift: Int = 0): Long = {
    val at = (top + random.nextInt(5000) + align - 1) / align * align + shift
    top = at + size + 64
    at
  }

  /** Gives the device these rights to `size` bytes from `at` on: 1 allows reads, 2 allows writes, 3
    * both, and 0 nothing.
    */
  def grant(at: Long, size: Int, right: Int): Unit =
    for (i <- 0 until size) page(at + i).rights(offset(at + i)) = right.toByte
  def revokeAll(): Unit = pages.values.foreach(page => java.util.Arrays.fill(page.rights, 0.toByte))

  /** Forgets all contents. The device then has no right to any memory. */
  def forget(): Unit = {
    pages.clear()
    number = -1
  }

  def put(at: Long, value: BigInt, size: Int): Unit =
    for (i <- 0 until size) set(at + i, (value >> (8 * i)).toByte)
  def put(at: Long, data: Seq[Byte]): Unit =
    for ((byte, i) <- data.zipWithIndex) set(at + i, byte)
  def get(at: Long, size: Int): Seq[Byte] = {
    val data = new Array[Byte](size)
    for (i <- 0 until size) data(i) = byte(at + i)
    ArraySeq.unsafeWrapArray(data)
  }
  def number(at: Long, size: Int): Long = {
    var value = 0L
    for (i <- 0 until size) value |= (byte(at + i) & 0xffL) << (8 * i)
    value
  }

  /** Returns the dword at `at` to the device. Fails unless the device may read a byte of this
    * dword.
    */
  def readDword(at: Long): BigInt = {
    assert((0 until 4).exists(i => (right(at + i) & 1) != 0), f"a read of $at%x")
    BigInt(number(at, 4))
  }

  /** Writes a byte of the device. A byte that is not mapped is lost. */
  def writeByte(at: Long, value: Byte): Unit =
    if (isMapped(at)) {
      assert((right(at) & 2) != 0, f"a write to $at%x")
      set(at, value)
    }
}

object HostMemory {
  val Unwritten = 0xa5.toByte // What memory has that was never written.

  /** Addresses from here on are mapped to no memory. */
  val Unmapped = 1L << 62

  def isMapped(at: Long): Boolean = java.lang.Long.compareUnsigned(at, Unmapped) < 0

  private val PageBits  = 12
  private val PageBytes = 1 << PageBits

  private class Page {
    val bytes  = Array.fill(PageBytes)(Unwritten)
    val rights = new Array[Byte](PageBytes)
  }
}
