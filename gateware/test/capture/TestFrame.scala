// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture

import scala.util.Random

/** A frame that a source sends in a test: its data, its time in ns, its port, and `original`, its
  * length in bytes on the wire.
  */
case class TestFrame(
    time: Long,
    port: Int,
    original: Int,
    data: IndexedSeq[Byte],
    flags: Long = 0,
    error: Boolean = false
) {
  def beats: Int = (data.size + 31) / 32
}

object TestFrame {

  /** Makes a random frame with up to `largest` bytes, mostly a small one. In most frames `original`
    * is the number of bytes sent. `bad` is the percentage of frames with an error.
    */
  def random(r: Random, time: Long, largest: Int = 1600, bad: Int = 0): TestFrame = {
    val size = r.nextInt(8) match {
      case 0     => 1 + r.nextInt(largest)
      case 1     => 1 + r.nextInt(40)
      case 2     => 60
      case 3     => largest - r.nextInt(40 min largest)
      case 4 | 5 => 56 + r.nextInt(16)
      case _     => 1 + r.nextInt(200 min largest)
    }
    val error = r.nextInt(100) < bad
    TestFrame(
      time,
      r.nextInt(4),
      size + (if (r.nextInt(4) == 0) r.nextInt(1000) else 0),
      Array.fill(size)(r.nextInt().toByte).toIndexedSeq,
      if (error) 1L << (24 + r.nextInt(8)) else if (r.nextInt(10) == 0) 1 + r.nextInt(3) else 0,
      error
    )
  }

  def bits(bytes: Seq[Byte]): BigInt =
    BigInt(1, bytes.padTo(32, 0.toByte).reverse.toArray)

  def bytes(bits: BigInt, size: Int = 32): IndexedSeq[Byte] =
    IndexedSeq.tabulate(size)(i => (bits >> (8 * i)).toByte)
}
