// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rq

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.{HardBlock, LargestRead, Numbers}

/** The parameters of the request path, which brings the clients' requests to RQ. `clients` are the
  * clients in the order of their ports. `storeBeats` is the number of beats of write data that the
  * store of each writing client holds. `messages` says that MSI-X messages go to RQ, too.
  */
case class RequestParam(
    clients: Seq[ClientConfig],
    storeBeats: Int = 32,
    messages: Boolean = false
) {
  val readers = clients.indices.filter(clients(_).reads)
  val writers = clients.indices.filter(clients(_).writes)
  // The clients that the Requester tells how far their writes have gone.
  val told = clients.indices.filter(clients(_).told)
  // The number of sources of write TLPs. MSI-X messages, if there are any, are the last source.
  val sources = writers.size + (if (messages) 1 else 0)
  require(readers.nonEmpty && writers.nonEmpty, "a card that only reads or only writes")
  require(isPow2(storeBeats), s"a store of $storeBeats beats: its size must be a power of two")
  // A client's store must hold two of the largest writes: one leaves while the next comes in. A row
  // of a write becomes free when a later row is read, so the last two rows of a write stay occupied
  // until the next write follows.
  require(
    storeBeats >= 2 * RequestParam.MaxPayload / HardBlock.BeatBytes,
    s"a store of $storeBeats beats has no room for two writes of ${RequestParam.MaxPayload} B"
  )

  // Width of a row number in a store of write data: one bit more than the rows need, so that a full
  // store differs from an empty one.
  val rowBits = log2Up(storeBeats) + 1
  // Width of a dword's position in a store of write data.
  val positionBits = rowBits + log2Up(HardBlock.Dwords)
}

object RequestParam {
  val MaxPayload     = Numbers.LargestPayload // Most bytes of a write TLP, even if MPS is larger.
  val MaxReadRequest = LargestRead.Bytes      // Most bytes that a read TLP asks for.
  val PieceDwords    = LargestRead.Dwords
  val PageDwords     = Numbers.PageBytes / 4  // Dwords of a 4 KiB page: no TLP crosses a page.
  val LeastLimit     = 32                     // Dwords that every host allows a TLP to have.
  // Dwords of RQ's descriptor in front of the payload.
  val Descriptor = Numbers.RequestDescriptor / 4
}
