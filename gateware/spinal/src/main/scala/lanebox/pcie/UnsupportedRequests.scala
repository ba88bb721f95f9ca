// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** Answers requests that nobody serves with Unsupported Request, each exactly once.
  *
  * Never full: there are no more non-posted requests inside than credits.
  */
case class UnsupportedRequests() extends Component {
  val io = new Bundle {
    val refused    = slave(Flow(RefusedRequest()))
    val completion = master(Stream(Fragment(CcRequest())))
  }

  val waiting = StreamFifo(RefusedRequest(), CompleterParam.Reads, latency = 1)
  waiting.logic.ram.addAttribute("ram_style", "distributed")
  waiting.io.push.valid   := io.refused.valid
  waiting.io.push.payload := io.refused.payload

  val request = waiting.io.pop
  val isRead  = request.kind === CqKind.MemoryRead || request.kind === CqKind.LockedRead
  val answer  = Fragment(CcRequest())
  answer.last                       := True
  answer.kind                       := request.kind
  answer.completion.requester       := request.requester
  answer.completion.status          := CompletionStatus.Unsupported
  answer.completion.dwords          := 0
  answer.completion.final_          := True
  answer.completion.request.address := request.address
  answer.completion.request.dwords  := request.dwords
  answer.completion.request.firstBe := request.firstBe
  answer.completion.request.lastBe  := request.lastBe
  answer.completion.data            := 0

  // Base specification 2.2.9: of a read what is still to come, of an atomic operation the operand's
  // size, else four bytes; the lower address only of a read.
  answer.completion.lowerAddress := 0
  answer.completion.byteCount    := 4
  when(CqKind.atomic(request.kind)) {
    val bytes = request.dwords @@ U"00"
    answer.completion.byteCount := (request.kind === CqKind.CompareAndSwap) ? (bytes |>> 1) | bytes
  }
  when(isRead) {
    answer.completion.lowerAddress :=
      request.address(6 downto 2) @@ RequestEnables.skipped(request.firstBe)
    answer.completion.byteCount :=
      RequestEnables.span(request.dwords, request.firstBe, request.lastBe)
  }

  io.completion << request.translateWith(answer).m2sPipe()
}
