// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rq

/** A client of the RequestPath, with a name. It reads host memory, writes it, or does both. Only if
  * its reads are `fenced` do interrupts wait for their data. Only if it is `told` does the
  * Requester tell it how far its writes have gone.
  *
  * PCIe asks for no such wait: an MSI is a posted write, and only posted writes must not be passed
  * by it. So the wait is only needed by a client whose interrupt tells the host that a read is over
  * (that its buffer may be unmapped, for example) although the data has not come yet. A client that
  * has taken the data of a read before it tells the host of it need not be fenced.
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
