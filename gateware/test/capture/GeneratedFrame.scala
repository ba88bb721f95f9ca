// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture

import java.nio.{ByteBuffer, ByteOrder}

/** Computes the bytes of a frame that the card's traffic generator makes, from the frame's number,
  * its port and the generator's seed, as a program on the host would.
  */
object GeneratedFrame {
  def data(seed: Int, number: Int, port: Int, size: Int): IndexedSeq[Byte] = {
    val beats = (size + 31) / 32
    val out   = ByteBuffer.allocate(32 * beats).order(ByteOrder.LITTLE_ENDIAN)
    var word  = seed ^ number
    for (_ <- 0 until beats) {
      for (lane <- 0 until 8) out.putInt(Integer.rotateLeft(word, 4 * lane))
      word ^= word << 13
      word ^= word >>> 17
      word ^= word << 5
    }
    val header = Seq(2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, port, 0x88, 0xb5, 0, 0).map(_.toByte).toArray
    out.position(0)
    out.put(header).putInt(number).putInt(seed)
    out.array.take(size).toIndexedSeq
  }
}
