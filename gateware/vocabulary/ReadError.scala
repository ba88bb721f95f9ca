// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.vocabulary

import spinal.core._

/** The reasons for which a read of host memory fails. */
object ReadError extends SpinalEnum(binarySequential) {
  val none        = newElement()
  val unsupported = newElement() // The host answered Unsupported Request, or an unknown status.
  val aborted     = newElement()
  val poisoned    = newElement()
  val timeout     = newElement() // No answer came in time, by the card's or the hard block's clock.
  val malformed   = newElement() // Length, byte count or address do not fit the request.
  val cut         = newElement() // The hard block cut a completion short, or a reset ended it.
}
