// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.queues

import spinal.core._
import spinal.lib._

/** Toeplitz hash of addresses and ports with a key that is fixed in the build.
  *
  * Input bit i, the most significant bit first, adds bits i to i+31 of the key to the hash, by XOR.
  * Input bits that add the same 32 bits are joined first. So a key that repeats every 16 bits costs
  * 16 terms, while Microsoft's key costs a term for each input bit.
  *
  * The hash comes two cycles behind the input.
  */
case class Toeplitz(key: BigInt = Toeplitz.Symmetric) extends Component {
  val io = new Bundle {
    val input = in Bits (Toeplitz.InputBits bits)
    val hash  = out Bits (Toeplitz.HashBits bits)
  }
  import Toeplitz._

  val terms = (0 until InputBits)
    .groupBy(bit => keyPart(key, bit))
    .toSeq
    .sortBy(_._2.head)
    .map { case (adds, bits) =>
      (adds, RegNext(bits.map(bit => io.input(InputBits - 1 - bit)).reduceBalancedTree(_ ^ _)))
    }
  val sum = Bits(HashBits bits)
  for (i <- 0 until HashBits) {
    val parts = terms.collect { case (adds, value) if adds.testBit(i) => value }
    sum(i) := (if (parts.isEmpty) False else parts.reduceBalancedTree(_ ^ _))
  }
  io.hash := RegNext(sum)
}

object Toeplitz {

  /** The input's bits: two IPv6 addresses and two ports. IPv4 uses only the first 96 bits. */
  val InputBits = 2 * 128 + 2 * 16
  val HashBits  = 32
  val KeyBits   = 320

  /** A key of 16 bits that repeat. With it both directions of a connection have the same hash,
    * since the hash stays the same if two 16-bit words of the input change places.
    */
  val Symmetric = BigInt("6d5a" * (KeyBits / 16), 16)

  /** The key with which Microsoft has published the hashes of some addresses and ports. */
  val Microsoft = BigInt(
    "6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa",
    16
  )

  /** Says whether a bit of the input adds the same to the hash as the bit 16 places before it. */
  def repeats(key: BigInt): Boolean =
    (16 until InputBits).forall(bit => keyPart(key, bit) == keyPart(key, bit - 16))

  /** Returns the 32 bits of the key that input bit `bit` adds to the hash. */
  def keyPart(key: BigInt, bit: Int): BigInt =
    (key >> (KeyBits - HashBits - bit)) & ((BigInt(1) << HashBits) - 1)
}
