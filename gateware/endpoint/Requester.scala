// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** The shape of the requester side: `clients` as in RequestParam. `msixVectors` 0: no MSI-X. */
case class RequesterParam(
    clients: Seq[ClientConfig],
    msixVectors: Int = 0,
    readTags: Int = 64,
    ringBytes: Int = 65536,
    completionPool: Boolean = false
) {
  val requests = RequestParam(clients, messages = msixVectors > 0)
  val returns  = ReturnParam(requests.readers.size, readTags, ringBytes, completionPool)
}

object RequesterParam {

  /** From `key=value` words: clients=rw,w,r (what each one does), msixVectors, readTags, ringBytes,
    * completionPool (0 or 1).
    */
  def apply(words: Seq[String]): RequesterParam =
    words.map(_.split("=", 2)).foldLeft(RequesterParam(kinds("rw"))) {
      case (p, Array("clients", list))     => p.copy(clients = kinds(list))
      case (p, Array("msixVectors", n))    => p.copy(msixVectors = n.toInt)
      case (p, Array("readTags", n))       => p.copy(readTags = n.toInt)
      case (p, Array("ringBytes", n))      => p.copy(ringBytes = n.toInt)
      case (p, Array("completionPool", n)) => p.copy(completionPool = n == "1")
      case (_, word) =>
        throw new IllegalArgumentException(s"${word.mkString("=")}: no parameter of the Requester")
    }

  private def kinds(list: String): Seq[ClientConfig] =
    list.split(",").toSeq.zipWithIndex.map { case (kind, i) =>
      require(kind.forall("rw".contains(_)), s"client $kind: must be r, w or rw")
      ClientConfig(s"$kind$i", reads = kind.contains('r'), writes = kind.contains('w'))
    }
}

/** What has passed RQ since reset or `clear`; counters wrap. */
case class RequesterCounters() extends Bundle {
  val writes, reads = UInt(32 bits) // TLPs.
  val beats, stalls = UInt(32 bits) // Cycles in which RQ took a beat; in which it did not.
  val claimWaits    = UInt(32 bits) // Cycles in which a read waited for tag, space or credit.
  // Cycles in which writes waited: too many had not left the block.
  val numberWaits = UInt(32 bits)
}

/** The card's requests to the host and the answers: RQ and RC with all that belongs to them.
  *
  * `interrupt` to `fenced` is for messages that do not go through RQ (MSI). One comes out when all
  * earlier writes of the clients have left the hard block and all earlier reads have been
  * delivered. Messages of MSI-X are sent on RQ in here.
  */
case class RequesterTop(p: RequesterParam) extends Component {
  setDefinitionName("Requester")
  val readers = p.requests.readers
  val msix    = p.msixVectors > 0

  val io = new Bundle {
    val rq         = master(HardBlock.Rq())
    val rc         = slave(HardBlock.Rc())
    val sequence   = in(SequencePins())
    val management = master(ConfigManagement())

    val maxPayload, maxReadRequest = in UInt (3 bits)
    val rcb128, busMaster          = in Bool ()
    val timeoutCycles              = in UInt (32 bits) // Timeout of reads; see ReturnPath.

    val clients   = Vec(slave(Stream(Fragment(Request()))), p.clients.size)
    val returns   = Vec(master(Stream(Fragment(ReadData()))), readers.size)
    val interrupt = slave(Stream(Bits(8 bits)))
    val fenced    = master(Stream(Bits(8 bits)))

    val msixEnable, msixMask = msix generate (in Bool ())
    // One pulse for each interrupt.
    val msixIrqs = msix generate (in Bits (p.msixVectors bits))
    val msixBusy = msix generate (out Bool ())
    // A message was sent, a cycle late.
    val msixSent      = msix generate (out Bool ())
    val msixRegisters = msix generate slave(RegisterPort(MsixTable.addressBits(p.msixVectors)))

    val stop         = in Bool ()  // See RequestPath.
    val idle         = out Bool () // No TLP is half sent, and no read is outstanding.
    val extendedTags = out Bool ()
    val clear        = in Bool ()  // Clears all counters.
    val counters     = out(RequesterCounters())
    val statistics   = out(ReturnStatistics())
  }

  noIoPrefix()

  val path    = RequestPath(p.requests)
  val returns = ReturnPath(p.returns)
  val watch   = ConfigWatch()
  val fences  = Seq.fill(RequesterTop.Interrupts)(Fence(p.requests, FenceKind.Sent))

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

  for ((fence, message) <- fences.zip(StreamDispatcherSequencial(io.interrupt, fences.size))) {
    fence.io.progress  := path.io.progress
    fence.io.delivered := returns.io.delivered
    fence.io.message << message
  }
  io.fenced << StreamCombinerSequential(fences.map(_.io.passed))

  val messages = msix generate new Area {
    val table = MsixTable(p.msixVectors)
    val fence = Fence(p.requests, FenceKind.Ordered)
    fence.io.progress  := path.io.progress
    fence.io.delivered := returns.io.delivered
    fence.io.message << table.io.fence
    table.io.fenced << fence.io.passed
    // Messages are memory writes. Those that may not leave stay pending.
    table.io.enable       := io.msixEnable && io.busMaster && !io.stop
    table.io.functionMask := io.msixMask
    table.io.irqs         := io.msixIrqs
    table.io.registers <> io.msixRegisters
    io.msixBusy := table.io.busy
    path.io.message <> table.io.message
    io.msixSent := RegNext(io.rq.fire && RequestNumbers.isMessage(io.rq.sequence)) init False
  }

  io.idle       := RegNext(path.io.idle && returns.io.idle) init False
  io.statistics := returns.io.statistics

  val counts = new Area {
    def count(event: Bool): UInt = {
      val counter = Reg(UInt(32 bits)) init 0
      when(RegNext(event) init False)(counter := counter + 1)
      when(io.clear)(counter                  := 0)
      counter
    }
    val sent = io.rq.fire && io.rq.last
    val read = io.rq.sequence === RequestNumbers.Read
    io.counters.writes      := count(sent && !read)
    io.counters.reads       := count(sent && read)
    io.counters.beats       := count(io.rq.fire)
    io.counters.stalls      := count(io.rq.isStall)
    io.counters.claimWaits  := count(path.io.progress.waitsForClaim)
    io.counters.numberWaits := count(path.io.progress.waitsForNumber)
  }
}

object RequesterTop {

  /** Interrupts that may wait at a time, each at a fence of its own. */
  val Interrupts = 4
}
