// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox

import lanebox.pcie.{RequesterParam, RequesterTop}

/** Writes Requester.v into the folder args(0); further words are RequesterParam's. */
object RequesterVerilog extends App {
  LaneboxConfig(args(0)).generateVerilog(RequesterTop(RequesterParam(args.toSeq.drop(1))))
}
