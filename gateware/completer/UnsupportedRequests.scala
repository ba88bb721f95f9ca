// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** Answers refused non-posted requests with Unsupported Request, each exactly once.
  *
  * The queue is never full: it has room for as many requests as there are credits.
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

  // Byte count, base specification 2.2.9: for a read the bytes that it asks for, for an atomic
  // operation the size of the operand, else 4. Only reads have a lower address.
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
