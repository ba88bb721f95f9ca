// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.completer

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.targets.{TargetCompletion, TargetRequest}

/** A port of the Completer, to which a target attaches. The Completer gives the target the host's
  * requests, and takes the target's completions.
  *
  * Requests come in the host's order. The target must be able to take CompleterParam.Reads (32)
  * reads before it has answered any of them; otherwise reads would block CQ. The beats of a
  * completion must follow each other without a gap.
  */
case class TargetPort() extends Bundle with IMasterSlave {
  val request    = Stream(Fragment(TargetRequest()))
  val completion = Stream(Fragment(TargetCompletion()))

  override def asMaster(): Unit = {
    master(request)
    slave(completion)
  }
}
