// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.vocabulary.targets

import spinal.core._

/** The status of a completion (base specification 2.2.9). */
object CompletionStatus {
  def Success     = B"000"
  def Unsupported = B"001"
  def Abort       = B"100"
}
