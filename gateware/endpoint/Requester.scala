// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.endpoint

import spinal.core._
import spinal.lib._

import lanebox.interrupt.{MsixTable, RegisterPort}
import lanebox.requester.rc.{ReturnPath, ReturnStatistics}
import lanebox.requester.rq._
import lanebox.vocabulary.{EventCounter, HardBlock, ReadData, Request}

/** Sends the clients' requests to the host on RQ, and gives the clients the data of the host's
  * answers on RC.
  *
  * {{{
  *   clients(i) ----------------------------+
  *   msixIrqs ---> MsixTable --- message ---+---> RequestPath ----------------------> rq
  *                  |    ^                         |      ^  |
  *                  v    |                   claim |      |  +------ progress ----+
  *                   Fence                         v      | tag, room             v
  *   returns(i) <------------------------------- ReturnPath --- delivered ---> every Fence
  *                                                 ^
  *   rc -------------------------------------------+
  *   interrupt ---> one Fence of four, in turn ---> fenced
  *   sent(i) <----- a Fence for each client in `told`
  *   management <-> ConfigWatch --- extendedTags ---> RequestPath, ReturnPath
  * }}}
  *
  * An MSI does not go through RQ. It enters at `interrupt` and comes out at `fenced` when all
  * earlier writes of the clients have left the hard block and the data of all earlier reads of
  * fenced clients (see ClientConfig) has been delivered. An MSI-X message is a write, which this
  * component sends on RQ itself.
  */
case class Requester(p: RequesterParam) extends Component {
  setDefinitionName("Requester")
  val readers = p.requests.readers
  val told    = p.requests.told
  val msix    = p.msixVectors > 0

  val io = new Bundle {
    val rq         = master(HardBlock.Rq())
    val rc         = slave(HardBlock.Rc())
    val sequence   = in(HardBlock.SequencePins())
    val management = master(ConfigWatch.ConfigManagement())

    val maxPayload, maxReadRequest = in UInt (3 bits)
    val rcb128, busMaster          = in Bool ()
    val timeoutCycles              = in UInt (32 bits) // Cycles until a read times out; 0: never.

    val clients = Vec(slave(Stream(Fragment(Request()))), p.clients.size)
    val returns = Vec(master(Stream(Fragment(ReadData()))), readers.size)
    // Bit i is for client told(i). A pulse says that all writes that the client had handed over by
    // the pulse before have left the hard block. Pulses go on for ever.
    val sent      = told.nonEmpty generate (out Bits (told.size bits))
    val interrupt = slave(Stream(Bits(8 bits)))
    val fenced    = master(Stream(Bits(8 bits)))

    val msixEnable, msixMask = msix generate (in Bool ())
    // A pulse in a bit raises the interrupt of the vector with that number.
    val msixIrqs = msix generate (in Bits (p.msixVectors bits))
    val msixBusy = msix generate (out Bool ())
    // A pulse in the cycle after RQ has taken an MSI-X message.
    val msixSent      = msix generate (out Bool ())
    val msixRegisters = msix generate slave(RegisterPort(MsixTable.addressBits(p.msixVectors)))

    val stop         = in Bool ()  // While high no new request is taken and no new TLP goes to RQ.
    val idle         = out Bool () // No TLP is partly sent, and no read is outstanding.
    val extendedTags = out Bool ()
    val clear        = in Bool ()
    val counters     = out(Counters())
    val statistics   = out(ReturnStatistics())
  }

  noIoPrefix()

  /** Counters of the cycles in which requests of the card have waited, since reset or `clear`. They
    * wrap.
    */
  case class Counters() extends Bundle {
    // Cycles in which a read waited for a tag or for completion space.
    val claimWaits = UInt(32 bits)
    // Cycles in which writes waited, because too many writes had not left the hard block yet.
    val numberWaits = UInt(32 bits)
  }

  val path    = RequestPath(p.requests)
  val returns = ReturnPath(p.returns)
  val watch   = ConfigWatch()
  val fences  = Seq.fill(Requester.Interrupts)(Fence(p.requests, Fence.Sent))

  path.io.settings.maxPayload     := io.maxPayload
  path.io.settings.maxReadRequest := io.maxReadRequest
  path.io.settings.rcb128         := io.rcb128
  path.io.settings.extendedTags   := watch.io.extendedTags
  path.io.settings.busMaster      := io.busMaster
  path.io.stop                    := io.stop
  path.io.sequence                := io.sequence
  for ((client, port) <- path.io.clients.zip(io.clients)) client << port
  io.rq << path.io.rq

  returns.io.rc << io.rc
  returns.io.claim << path.io.claim
  path.io.tag              := returns.io.tag
  path.io.room             := returns.io.room
  returns.io.rcb128        := io.rcb128
  returns.io.extendedTags  := watch.io.extendedTags
  returns.io.timeoutCycles := io.timeoutCycles
  returns.io.clear         := io.clear
  for ((port, data) <- io.returns.zip(returns.io.returns)) port << data

  io.management <> watch.io.management
  io.extendedTags := watch.io.extendedTags

  /** Interrupt messages go to the fences in rotation, and leave them in the same order. */
  val interrupts = new Area {
    val enters, leaves = Counter(fences.size)
    when(io.interrupt.fire)(enters.increment())
    val waiting = StreamDemux(io.interrupt, enters.value, fences.size)
    for ((fence, message) <- fences.zip(waiting)) {
      fence.io.progress  := path.io.progress
      fence.io.delivered := returns.io.delivered
      fence.io.message << message
    }
    val passed = StreamMux(leaves.value, fences.map(_.io.passed))
    when(passed.fire)(leaves.increment())
    io.fenced << passed
  }

  // Each client in `told` gets pulses on `sent` from a fence of its own. A message without content
  // always waits at this fence, and the next message enters when the message before has passed.
  for ((client, i) <- told.zipWithIndex) {
    val fence = Fence(p.requests, Fence.Sent, only = Some(client))
    fence.io.progress        := path.io.progress
    fence.io.delivered       := returns.io.delivered
    fence.io.message.valid   := True
    fence.io.message.payload := 0
    fence.io.passed.ready    := True
    io.sent(i)               := fence.io.passed.valid
  }

  val messages = msix generate new Area {
    val table = MsixTable(p.msixVectors)
    val fence = Fence(p.requests, Fence.Ordered)
    fence.io.progress  := path.io.progress
    fence.io.delivered := returns.io.delivered
    fence.io.message << table.io.fence
    table.io.fenced << fence.io.passed
    // MSI-X messages are memory writes, so the host must have enabled bus mastering. A message that
    // may not leave stays pending.
    table.io.enable       := io.msixEnable && io.busMaster && !io.stop
    table.io.functionMask := io.msixMask
    table.io.irqs         := io.msixIrqs
    table.io.registers <> io.msixRegisters
    io.msixBusy := table.io.busy
    path.io.message <> table.io.message
    val sent = RegNext(io.rq.fire && RequestNumbers.isMessage(io.rq.sequence)) init False
    io.msixSent := sent
  }

  val rests = RegNext(path.io.idle && returns.io.idle) init False
  io.idle       := rests
  io.statistics := returns.io.statistics

  val counts = new Area {
    val claimWaits  = EventCounter(path.io.progress.waitsForClaim, io.clear)
    val numberWaits = EventCounter(path.io.progress.waitsForNumber, io.clear)
    io.counters.claimWaits  := claimWaits.count
    io.counters.numberWaits := numberWaits.count
  }
}

object Requester {

  /** The number of MSI messages that may wait at a time. Each message waits at a fence of its own.
    */
  val Interrupts = 4
}
