// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** A client of the RequestPath: whether it reads host memory, writes it, or both. */
case class ClientConfig(name: String, reads: Boolean, writes: Boolean) {
  require(reads || writes, s"client $name neither reads nor writes")
}

/** The shape of the request path. `clients`: in the order of their ports. `storeBeats`: beats of
  * write data that each writing client may store. `messages`: MSI-X messages go to RQ, too.
  */
case class RequestParam(
    clients: Seq[ClientConfig],
    storeBeats: Int = 32,
    messages: Boolean = false
) {
  val readers = clients.indices.filter(clients(_).reads)
  val writers = clients.indices.filter(clients(_).writes)
  // How many sources of write TLPs there are. Messages, if any, are the last source.
  val sources = writers.size + (if (messages) 1 else 0)
  require(readers.nonEmpty && writers.nonEmpty, "a card that only reads or only writes")
  require(isPow2(storeBeats), s"a store of $storeBeats beats: its size must be a power of two")
  // One write leaves while the next one comes in. The last two rows of a write stay occupied until
  // the next write follows.
  require(
    storeBeats >= 2 * RequestParam.MaxPayload / 32,
    s"a store of $storeBeats beats has no room for two writes of ${RequestParam.MaxPayload} B"
  )

  // Bits of a row in a store, with one more for the round, so that a full store differs from an
  // empty one.
  val rowBits      = log2Up(storeBeats) + 1
  val positionBits = rowBits + log2Up(HardBlock.Dwords) // In dwords.
}

object RequestParam {
  val MaxPayload     = 512  // Bytes of a write TLP, even if the host allows more.
  val MaxReadRequest = LargestRead.Bytes
  val PieceDwords    = LargestRead.Dwords
  val PageDwords     = 1024 // No TLP crosses 4 KiB (base specification 2.2.7).
  val LeastLimit     = 32   // Dwords that a TLP may have under any setting.
  val Descriptor     = 4    // Dwords of the descriptor in front of the payload.
  require(MaxPayload / 4 == PieceDwords)
}
