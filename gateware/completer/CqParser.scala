// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.completer

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.targets.TargetRequest
import lanebox.vocabulary.{ByteEnables, HardBlock, Numbers, Window}

/** Parses the host's requests, realigns their payload and sends each to the port whose window holds
  * it, in order.
  *
  * A request of one beat is offered to its port in the cycle after its CQ beat. A longer write
  * waits in the store until its last beat has come: if the hard block cuts the write
  * (`discontinue`), no part of it may be handed on. `cq.ready` does not depend on the ports'
  * `ready`: a port that takes nothing holds up CQ only when the store is full.
  */
case class CqParser(p: CompleterParam) extends Component {
  val io = new Bundle {
    val cq         = slave(HardBlock.Cq())
    val maxPayload = in UInt (3 bits)
    // While high, new requests are taken from CQ. A request that has begun is taken to its end.
    val open     = in Bool ()
    val requests = Vec(master(Stream(Fragment(TargetRequest()))), p.ports)
    // Non-posted requests that must be answered with Unsupported Request.
    val refused = master(Flow(RefusedRequest()))
    val events  = out(CqParser.CqEvents())
    val inside  = out Bool () // A request has been taken from CQ in part, but not to its end.
  }

  val store = RequestStore(p.ports, depth = 2 * p.writeBeats max 32)

  // The pins of CQ --------------------------------------------------------------------------------
  val midRequest = RegInit(False)
  val descriptor = CqDescriptor()
  descriptor.assignFromBits(io.cq.data(HardBlock.LowerHalf))

  // If only the card's logic was reset, the hard block may be in the middle of a request on CQ. So
  // CQ beats before the next `start` are taken and dropped. No stream operator fits, since a beat
  // is either dropped, or split into a half that leaves and a half that is held.
  io.cq.ready := store.io.room && (midRequest || io.open)
  val begins    = io.cq.valid && store.io.room && !midRequest && io.open && io.cq.start
  val continues = io.cq.valid && store.io.room && midRequest
  when(begins || continues)(midRequest := !io.cq.last)
  io.inside                            := midRequest

  val codes       = 0 to log2Up(p.writeBytes / 128)
  val limits      = codes.map(code => U(32 << code, Numbers.DwordCountWidth bits))
  val dwordsLimit = RegNext(io.maxPayload.muxListDc(limits.zipWithIndex.map(_.swap)))
  val offset      = UInt(32 bits)
  for (i <- 0 until 32)
    if (i < 2) offset(i) := False
    else offset(i)       := descriptor.address(i - 2) && descriptor.aperture > i

  def holds(window: Window[Int]): Bool = window.blocks
    .map { case (base, size) =>
      val low = log2Up(size)
      if (low >= 32) True else offset(31 downto low) === U(base >> low, 32 - low bits)
    }
    .reduce(_ || _) && descriptor.bar === window.bar
  val hits = (0 until p.ports).map(port => p.windows.filter(_.target == port).map(holds))

  // The held half of a CQ beat --------------------------------------------------------------------
  // Of each CQ beat only the upper half is held. The lower half of a request's first beat is the
  // descriptor. The lower half of a later beat has left together with the held half of the beat
  // before.
  val held = new Area {
    val valid       = RegInit(False)
    val first, last = Reg(Bool())
    val cut         = Reg(Bool())
    val begun       = RegNext(begins) init False // A request began on CQ in the cycle before.
    val kind        = Reg(Bits(4 bits))
    val request     = Reg(TargetRequest())
    val port        = Reg(Bits(p.ports bits))
    val malformed   = Reg(Bool())
    val supported   = Reg(Bool())
    val sound       = Reg(Bool())                // The request is supported and not malformed.
    val sole      = Reg(Bool()) // The request is sound, not cut short, and has one beat.
    val nonPosted = Reg(Bool())
  }

  // `upTo` is the end of the request, in dwords from the start of the 4 KiB page in which it
  // begins.
  val upTo    = descriptor.address(9 downto 0) +^ descriptor.dwords
  val crosses = upTo(11) || (upTo(10) && upTo(9 downto 0) =/= 0)
  val badEnables = !ByteEnables.legal(
    descriptor.dwords,
    io.cq.firstBe,
    io.cq.lastBe,
    !descriptor.address(0)
  )
  // `odd` marks a malformed request: its length is one that the hard block should not have let
  // through, or it is a read of more than one beat.
  val odd = descriptor.dwords === 0 ||
    (descriptor.kind === CqKind.MemoryWrite && descriptor.dwords > dwordsLimit) ||
    (descriptor.kind === CqKind.MemoryRead && !io.cq.last)
  val malformed = crosses || badEnables || odd
  val supported = descriptor.kind === CqKind.MemoryRead || descriptor.kind === CqKind.MemoryWrite
  when(begins) {
    held.kind                           := descriptor.kind
    held.request.write                  := descriptor.kind === CqKind.MemoryWrite
    held.request.bar                    := descriptor.bar
    held.request.offset                 := offset
    held.request.dwords                 := descriptor.dwords
    held.request.firstBe                := io.cq.firstBe
    held.request.lastBe                 := io.cq.lastBe
    held.request.address                := descriptor.address @@ U"00"
    held.request.requester.id           := descriptor.requester
    held.request.requester.tag          := descriptor.tag
    held.request.requester.trafficClass := descriptor.trafficClass
    held.request.requester.attributes   := descriptor.attributes
    held.request.requester.function     := descriptor.function
    for (i <- 0 until p.ports) held.port(i) := hits(i).foldLeft(False)(_ || _)
    // Bit i of `window` is for window i of the request's own port. Windows do not overlap, so ORing
    // in window i of every other port changes nothing.
    for (i <- 0 until TargetRequest.Windows)
      held.request.window(i) := hits.flatMap(_.lift(i)).foldLeft(False)(_ || _)
    held.malformed           := malformed
    held.supported           := supported
    held.sound               := supported && !malformed
    held.nonPosted           := CqKind.nonPosted(descriptor.kind)
  }

  // The beat on CQ is the last of its request, and its upper 16 bytes hold nothing.
  val ending     = io.cq.last && !io.cq.keep(4)
  val leaves     = held.valid && held.last && store.io.room
  val shiftsLast = continues && ending
  when(begins || continues) {
    held.valid        := begins || !ending
    held.last         := io.cq.last
    held.first        := begins
    held.request.data := io.cq.data(HardBlock.UpperHalf).resized
    held.cut          := io.cq.discontinue || (held.cut && continues)
    held.sole         := !midRequest && supported && !malformed && io.cq.last && !io.cq.discontinue
  } elsewhen (leaves)(held.valid := False)

  // From the held half to the store ---------------------------------------------------------------
  val matched  = held.port.orR
  val accepted = held.sound && matched
  val alone    = held.first && held.last

  // A beat for a port is made of the held upper half and the lower half of the next CQ beat. So
  // payload dword 0 is in lane 0.
  val routed = RequestStore.RoutedRequest(p.ports)
  routed.port                                              := held.port
  routed.request                                           := held.request
  routed.request.data(HardBlock.UpperHalf).allowOverride() := io.cq.data(HardBlock.LowerHalf)

  for ((port, pop) <- io.requests.zip(store.io.pops)) port << pop
  store.io.beat   := routed
  store.io.single := held.valid && store.io.room && held.sole && matched
  store.io.part   := accepted && (continues || (leaves && !alone))
  store.io.last   := held.last || shiftsLast
  store.io.cut    := held.cut || (continues && io.cq.discontinue)

  // Answers to refused requests, and events -------------------------------------------------------
  // Every non-posted request of the host must be answered, because only its final completion gives
  // its credit back.
  val refuses = held.nonPosted && (!accepted || (alone && held.cut))
  io.refused.valid     := held.begun && refuses
  io.refused.kind      := held.kind
  io.refused.address   := held.request.address
  io.refused.dwords    := held.request.dwords
  io.refused.firstBe   := held.request.firstBe
  io.refused.lastBe    := held.request.lastBe
  io.refused.requester := held.request.requester

  val whole = leaves || shiftsLast
  io.events.unsupported  := io.refused.valid
  io.events.dropped      := held.begun && !held.nonPosted && !accepted
  io.events.malformed    := held.begun && held.supported && held.malformed
  io.events.discontinued := whole && store.io.cut
}

object CqParser {

  /** Events that CqParser reports about the host's requests. Each Bool is a pulse of one cycle. */
  case class CqEvents() extends Bundle {
    val unsupported  = Bool() // A non-posted request will get Unsupported Request.
    val dropped      = Bool() // A posted request was refused.
    val malformed    = Bool() // The request refused in this cycle breaks a rule.
    val discontinued = Bool() // The hard block cut a request short.
  }
}
