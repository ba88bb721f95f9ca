// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rq

/** A client of RequestPath: a part of the card that `reads` host memory, `writes` it, or does both.
  * If the client is `fenced`, interrupts wait until it has taken the data of its earlier reads. If
  * it is `told`, the Requester tells it when its writes have left the hard block.
  *
  * PCIe does not demand that interrupts wait for reads: an MSI is a posted write, and must not pass
  * posted writes only. A client must be fenced if its interrupt tells the host that a read is over
  * (that its buffer may be unmapped, for example) although the data may not have come yet. A client
  * that takes the data of a read before it reports the read to the host need not be fenced.
  */
case class ClientConfig(
    name: String,
    reads: Boolean,
    writes: Boolean,
    fenced: Boolean = true,
    told: Boolean = false
) {
  require(reads || writes, s"client $name neither reads nor writes")
  require(writes || !told, s"client $name is told of its writes, but it does not write")
}
