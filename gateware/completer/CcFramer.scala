// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.completer

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.{HardBlock, Numbers}
import lanebox.vocabulary.targets.{CompletionStatus, TargetCompletion}

/** Frames completions as TLPs on CC.
  *
  * The sources (the completer's ports, and UnsupportedRequests) take turns by whole TLPs, round
  * robin. No cycle is lost inside a TLP or between two. The latency is one cycle. `cc.ready`
  * reaches the sources only through a register.
  */
case class CcFramer(sources: Int) extends Component {
  import CcFramer._

  require(sources >= 1, s"$sources sources of completions: there must be at least 1")

  val io = new Bundle {
    val completions = Vec(slave(Stream(Fragment(CcRequest()))), sources)
    // While `open` is high, completion TLPs may begin. A TLP that has begun is always finished.
    val open     = in Bool ()
    val cc       = master(HardBlock.Cc())
    val returned = out Bool () // A pulse: an answered request's non-posted credit is free again.
    val inside   = out Bool () // Some TLP has begun, and CC has not taken its last beat yet.
  }

  val chosen = StreamArbiterFactory().roundRobin.fragmentLock.on(io.completions)

  // Set when the first beat of a TLP is offered, even if it is not taken yet: a beat that was
  // offered must not be withdrawn when `open` falls.
  val midTlp = RegInit(False)
  val begins = RegInit(True)
  when(chosen.fire)(begins := chosen.last)

  val completion = chosen.completion
  val failed     = completion.status =/= CompletionStatus.Success

  // An error completion has no payload. In its place CC gets the request's byte enables and its CQ
  // descriptor, which the hard block needs to log the error.
  val repeated = CqDescriptor()
  repeated.addressType  := 0
  repeated.address      := completion.request.address(63 downto 2)
  repeated.dwords       := completion.request.dwords
  repeated.kind         := chosen.kind
  repeated.reserved     := 0
  repeated.requester    := completion.requester.id
  repeated.tag          := completion.requester.tag
  repeated.function     := completion.requester.function
  repeated.bar          := 0 // BAR and aperture are not in the TLP header that the hard block logs.
  repeated.aperture     := 0
  repeated.trafficClass := completion.requester.trafficClass
  repeated.attributes   := completion.requester.attributes
  repeated.unused       := 0
  val enables     = completion.request.lastBe ## completion.request.firstBe
  val information = repeated.asBits ## enables.resize(32)

  val descriptor = CcDescriptor()
  descriptor.assignFromBits(B(0, 96 bits))
  descriptor.allowOverride()
  descriptor.lowerAddress := completion.lowerAddress
  descriptor.byteCount    := completion.byteCount
  descriptor.locked       := failed && chosen.kind === CqKind.LockedRead
  descriptor.dwords       := failed ? U(0) | completion.dwords
  descriptor.status       := completion.status
  descriptor.requester    := completion.requester.id
  descriptor.tag          := completion.requester.tag
  descriptor.function     := completion.requester.function
  descriptor.trafficClass := completion.requester.trafficClass
  descriptor.attributes   := completion.requester.attributes

  // The descriptor takes three dwords, so the upper three dwords of each payload beat move into the
  // next CC beat. If no payload beat follows, they take one CC beat more: `tail`.
  val overhang = !failed && (completion.dwords(2 downto 0) - 1) >= 5
  // Lane of CC (0 to 7) that the last dword of the completion TLP is in.
  val lastLane = completion.dwords(2 downto 0) + 2
  val tail     = RegInit(False)
  val carried  = Reg(Bits(96 bits))
  val tailLane = Reg(UInt(3 bits))
  val tailEnd  = Reg(Bool())

  val framed = Stream(Fragment(FramedBeat()))
  val opened = io.open || midTlp
  when(chosen.valid && opened && !tail)(midTlp := !(chosen.fire && chosen.last))

  // No stream operator fits: the tail beat goes out without a beat of the completion.
  framed.valid                    := tail || (chosen.valid && opened)
  chosen.ready                    := framed.ready && !tail && opened
  framed.beat.data(95 downto 0)   := (begins && !tail) ? descriptor.asBits | carried
  framed.beat.data(255 downto 96) := failed ? information | completion.data(159 downto 0)
  framed.last                     := tail || (chosen.last && !overhang)
  framed.final_                   := tail ? tailEnd | completion.final_
  val endLane = tail ? tailLane | (failed ? U(7, 3 bits) | lastLane)
  for (lane <- 0 until HardBlock.Dwords)
    framed.beat.keep(lane) := !framed.last || U(lane, 3 bits) <= endLane

  when(chosen.fire) {
    carried  := completion.data(255 downto 160)
    tail     := chosen.last && overhang
    tailLane := lastLane
    tailEnd  := completion.final_
  }
  when(framed.fire && tail)(tail := False)

  val output = framed.s2mPipe().m2sPipe()
  io.cc.arbitrationFrom(output)
  io.cc.last     := output.last
  io.cc.fragment := output.beat
  io.returned    := output.fire && output.last && output.final_

  val midOutput = RegInit(False)
  when(output.valid)(midOutput := !(output.ready && output.last))
  io.inside                    := midOutput || output.valid || midTlp || framed.valid
}

object CcFramer {

  /** A completion, with the type (CqKind) of the request that it answers. Completions from ports
    * always answer memory reads. Completions for other types come from UnsupportedRequests.
    */
  case class CcRequest() extends Bundle {
    val completion = TargetCompletion()
    val kind       = Bits(4 bits)
  }

  /** The descriptor of a completion on CC: the first three dwords of its first beat (PG213,
    * "Completer Completion Descriptor").
    */
  case class CcDescriptor() extends Bundle {
    val lowerAddress    = UInt(7 bits)
    val reserved0       = Bits(1 bits)
    val addressType     = Bits(2 bits)
    val reserved1       = Bits(6 bits)
    val byteCount       = UInt(Numbers.ByteCountWidth bits)
    val locked          = Bool()
    val reserved2       = Bits(2 bits)
    val dwords          = UInt(Numbers.DwordCountWidth bits)
    val status          = Bits(3 bits)
    val poisoned        = Bool()
    val reserved3       = Bits(1 bits)
    val requester       = Bits(Numbers.IdWidth bits)
    val tag             = Bits(8 bits)
    val function        = Bits(8 bits)
    val bus             = Bits(8 bits)
    val completerEnable = Bool() // Always 0: the hard block uses its own bus number, not `bus`.
    val trafficClass    = Bits(3 bits)
    val attributes      = Bits(3 bits)
    val forceEcrc       = Bool()
  }

  /** A beat for CC. When the last beat of a completion with `final_` leaves, the non-posted credit
    * that its request took is free.
    */
  case class FramedBeat() extends Bundle {
    val beat   = HardBlock.CcBeat()
    val final_ = Bool()
  }
}
