// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.endpoint

import lanebox.vocabulary.LaneboxConfig

/** Writes Requester.v into the folder args(0). Further arguments are `key=value` for
  * RequesterParam.
  */
object RequesterVerilog extends App {
  LaneboxConfig(args(0)).generateVerilog(Requester(RequesterParam(args.toSeq.drop(1))))
}
