// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox

/** The seed of every random test. LANEBOX_SEED is added to it; the report of a failure prints it.
  */
object Seed {
  val value: Int = sys.env.getOrElse("LANEBOX_SEED", "0").toInt + 1
}
