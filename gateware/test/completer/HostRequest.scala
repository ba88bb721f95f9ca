// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.completer

import scala.util.Random

/** A request of the host, and its descriptor and data as the hard block shows them on CQ (PG213,
  * "Completer Request Descriptor").
  */
case class HostRequest(
    kind: Int,
    // Byte address of the request's first dword, as in the TLP, so a multiple of 4.
    address: BigInt,
    dwords: Int,
    firstBe: Int,
    lastBe: Int,
    bar: Int = 0,
    aperture: Int = 17,
    requester: Int = 0,
    tag: Int = 0,
    function: Int = 0,
    trafficClass: Int = 0,
    attributes: Int = 0,
    payload: Seq[Long] = Nil,
    discontinue: Boolean = false
) {
  def posted: Boolean = kind == HostRequest.Write || kind >= 12
  def offset: Int     = (address & ((BigInt(1) << aperture) - 1)).toInt

  val words: Seq[Long] = {
    val low = (address & 0xffffffffL).toLong
    Seq(
      low,
      (address >> 32).toLong,
      dwords.toLong | (kind.toLong << 11) | (requester.toLong << 16),
      tag.toLong | (function.toLong << 8) | (bar.toLong << 16) | (aperture.toLong << 19) |
        (trafficClass.toLong << 25) | (attributes.toLong << 28)
    ) ++ payload
  }

  def enable(dword: Int): Int =
    if (dword == 0) firstBe else if (dword == dwords - 1) lastBe else 15

  def legal: Boolean = {
    def begun(be: Int) = Set(15, 14, 12, 8)(be)
    def ended(be: Int) = Set(15, 7, 3, 1)(be)
    val enables =
      if (dwords == 1) lastBe == 0
      else if (dwords == 2 && address % 8 == 0) firstBe != 0 && lastBe != 0
      else begun(firstBe) && ended(lastBe)
    enables && dwords > 0 && (address % 4096).toInt + dwords * 4 <= 4096
  }

  def skip: Int = (0 to 3).find(i => (firstBe >> i & 1) == 1).getOrElse(0)

  /** The number of bytes of the request from the first enabled one to the last enabled one; 1 for a
    * zero-length read.
    */
  def span: Int = {
    val enabled =
      for (d <- Seq(0, dwords - 1).distinct; i <- 0 to 3 if (enable(d) >> i & 1) == 1)
        yield d * 4 + i
    if (enabled.isEmpty) 1 else enabled.max - enabled.min + 1
  }
}

object HostRequest {
  val Read  = 0
  val Write = 1

  /** Chooses random byte enables (first, last) for a request of the host, only such as PCIe allows.
    * Over time all of these appear.
    */
  def enables(random: Random, address: BigInt, dwords: Int): (Int, Int) =
    if (dwords == 1) (random.nextInt(16), 0)
    else if (dwords == 2 && address % 8 == 0) (1 + random.nextInt(15), 1 + random.nextInt(15))
    else (Seq(15, 14, 12, 8)(random.nextInt(4)), Seq(15, 7, 3, 1)(random.nextInt(4)))

  def words(random: Random, count: Int): Seq[Long] = Seq.fill(count)(random.nextInt() & 0xffffffffL)

  def pack(words: Seq[Long]): BigInt = words.foldRight(BigInt(0))((w, all) => all << 32 | w)
}

/** A completion as the Completer sent it on CC: its dwords, and the cycles of its first and last
  * beat.
  */
case class HostCompletion(words: Seq[Long], firstAt: Long, lastAt: Long) {
  private def field(word: Int, low: Int, bits: Int) =
    (words(word) >> low & ((1L << bits) - 1)).toInt

  val lowerAddress = field(0, 0, 7)
  val byteCount    = field(0, 16, 13)
  val locked       = field(0, 29, 1) == 1
  val dwords       = field(1, 0, 11)
  val status       = field(1, 11, 3)
  val requester    = field(1, 16, 16)
  val tag          = field(2, 0, 8)
  val function     = field(2, 8, 8)
  val trafficClass = field(2, 25, 3)
  val attributes   = field(2, 28, 3)
  val payload      = words.drop(3)

  /** The bits that must be zero in every completion's descriptor: address type, poison, completer
    * ID and the reserved bits.
    */
  val rest = (words(0) & 0xc000ff80L) | (words(1) & 0xc000L & ~0x3800L) | (words(2) & 0x81ff0000L)
}
