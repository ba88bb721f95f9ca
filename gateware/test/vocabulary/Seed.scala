// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.vocabulary

/** The seed of every random test: the environment variable LANEBOX_SEED (0 if not set) plus 1. The
  * report of a failure prints it.
  */
object Seed {
  val value: Int = sys.env.getOrElse("LANEBOX_SEED", "0").toInt + 1
}
