// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.endpoint

import lanebox.vocabulary.Numbers

/** The parameter of SlavePort. `timeout` is the number of cycles that a front end may take for one
  * dword.
  */
case class SlavePortParam(timeout: Int = Numbers.TargetTimeout) {
  require(timeout >= 4, s"a timeout of $timeout cycles: no front end answers in fewer than 4")
}
