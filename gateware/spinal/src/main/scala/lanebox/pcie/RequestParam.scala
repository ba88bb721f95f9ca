// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** Somebody who asks for host memory through the RequestPath. */
case class ClientConfig(name: String, reads: Boolean, writes: Boolean) {
  require(reads || writes, s"client $name neither reads nor writes")
}

/** `clients` in the order of their ports; `storeBeats`: what each writing client may store;
  * `messages`: messages of MSI-X go to RQ, too.
  */
case class RequestParam(
    clients: Seq[ClientConfig],
    storeBeats: Int = 32,
    messages: Boolean = false
) {
  val readers = clients.indices.filter(clients(_).reads)
  val writers = clients.indices.filter(clients(_).writes)
  val sources = writers.size + (if (messages) 1 else 0) // Of write TLPs; messages are the last.
  require(readers.nonEmpty && writers.nonEmpty, "a card that only reads or only writes")
  require(isPow2(storeBeats), s"a store of $storeBeats beats: its size must be a power of two")
  // One write leaves while the next one comes in, and two rows stay taken until a write follows.
  require(
    storeBeats >= 2 * RequestParam.MaxPayload / 32,
    s"a store of $storeBeats beats has no room for two writes of ${RequestParam.MaxPayload} B"
  )

  // Of a place in a store, with one bit for the turn: a full store differs from an empty one.
  val rowBits      = log2Up(storeBeats) + 1
  val positionBits = rowBits + log2Up(HardBlock.Dwords) // In dwords.
}

object RequestParam {
  val MaxPayload     = 512  // Bytes of a write TLP, whatever more the host would allow.
  val MaxReadRequest = LargestRead.Bytes
  val PieceDwords    = LargestRead.Dwords
  val PageDwords     = 1024 // No TLP crosses 4 KiB (base specification 2.2.7).
  val LeastLimit     = 32   // Dwords of a TLP that no setting forbids.
  val Descriptor     = 4    // Dwords before the payload.
  require(MaxPayload / 4 == PieceDwords)
}
