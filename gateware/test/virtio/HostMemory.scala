// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import scala.collection.mutable
import scala.util.Random

/** Memory of the modelled host, with the rights that the device has to each byte. */
class HostMemory(random: Random) {
  private val bytes  = mutable.LongMap[Byte]()
  private val rights = mutable.LongMap[Int]()
  private var top    = (random.nextLong() & 0x3fffffL) << 32

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
    for (i <- at until at + size) if (right == 0) rights.remove(i) else rights(i) = right
  def revokeAll(): Unit = rights.clear()

  def put(at: Long, value: BigInt, size: Int): Unit =
    for (i <- 0 until size) bytes(at + i) = (value >> (8 * i)).toByte
  def put(at: Long, data: Seq[Byte]): Unit =
    for ((byte, i) <- data.zipWithIndex) bytes(at + i) = byte
  def get(at: Long, size: Int): Seq[Byte] =
    (0 until size).map(i => bytes.getOrElse(at + i, 0xa5.toByte))
  def number(at: Long, size: Int): Long =
    get(at, size).zipWithIndex.map { case (byte, i) => (byte & 0xffL) << (8 * i) }.sum

  /** Returns the dword at `at` to the device. Fails unless the device may read a byte of this
    * dword.
    */
  def readDword(at: Long): BigInt = {
    assert((at until at + 4).exists(i => (rights.getOrElse(i, 0) & 1) != 0), f"a read of $at%x")
    BigInt(number(at, 4))
  }
  def writeByte(at: Long, value: Byte): Unit = {
    assert((rights.getOrElse(at, 0) & 2) != 0, f"a write to $at%x")
    bytes(at) = value
  }
}
