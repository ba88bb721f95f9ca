// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rq

/** A client of the RequestPath, with a name. It reads host memory, writes it, or does both. */
case class ClientConfig(name: String, reads: Boolean, writes: Boolean) {
  require(reads || writes, s"client $name neither reads nor writes")
}
