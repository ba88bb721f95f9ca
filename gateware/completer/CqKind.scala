// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.completer

import spinal.core._

/** The codes of the types of requests on CQ (PG213, table "Transaction Types"). */
object CqKind {
  def MemoryRead     = B"0000"
  def MemoryWrite    = B"0001"
  def CompareAndSwap = B"0110"
  def LockedRead     = B"0111"

  /** Returns whether the sender of a request of this type waits for a completion. Types 12 to 15
    * are messages or reserved, and they are posted. Configuration requests never come on CQ.
    */
  def nonPosted(kind: Bits): Bool =
    !(kind === MemoryWrite || kind(3 downto 2) === B"11")

  def atomic(kind: Bits): Bool = kind === B"0100" || kind === B"0101" || kind === CompareAndSwap
}
