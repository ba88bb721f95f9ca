// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.vocabulary

/** The limit on the data that one read TLP of the card asks for, in bytes and in dwords. */
object LargestRead {
  val Bytes  = Numbers.LargestPayload
  val Dwords = Bytes / 4
}
