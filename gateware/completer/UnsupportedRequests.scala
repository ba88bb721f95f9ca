// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.completer

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.ByteEnables
import lanebox.vocabulary.targets.CompletionStatus

/** Answers each refused non-posted request of the host with Unsupported Request, exactly once.
  *
  * The refused requests wait in a queue. The queue never overflows, since it has room for as many
  * requests as the hard block has credits (32).
  */
case class UnsupportedRequests() extends Component {
  import CcFramer.CcRequest

  val io = new Bundle {
    val refused    = slave(Flow(RefusedRequest()))
    val completion = master(Stream(Fragment(CcRequest())))
  }

  val waiting = StreamFifo(RefusedRequest(), CompleterParam.Reads, latency = 1)
  waiting.logic.ram.addAttribute("ram_style", "distributed")
  waiting.io.push << io.refused.toStream

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

  // The completion's byte count (base specification 2.2.9) is the bytes asked for if the request is
  // a read, the size of the operand if it is an atomic operation, and 4 otherwise. The lower
  // address is 0 unless the request is a read.
  answer.completion.lowerAddress := 0
  answer.completion.byteCount    := 4
  when(CqKind.atomic(request.kind)) {
    val bytes = request.dwords @@ U"00"
    answer.completion.byteCount := (request.kind === CqKind.CompareAndSwap) ? (bytes |>> 1) | bytes
  }
  when(isRead) {
    answer.completion.lowerAddress :=
      request.address(6 downto 2) @@ ByteEnables.firstGap(request.firstBe)
    answer.completion.byteCount :=
      ByteEnables.span(request.dwords, request.firstBe, request.lastBe)
  }

  io.completion << request.translateWith(answer).m2sPipe()
}
