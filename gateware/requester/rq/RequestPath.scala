// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rq

import spinal.core._
import spinal.lib._

import lanebox.vocabulary._

/** Brings the clients' requests to RQ.
  *
  * {{{
  *   clients(i) ---> RequestClient --- a write's piece --------------------------+
  *                     |   |                                                     v
  *                     |   +--- a read's piece ---> RequestReads --- tagged ---> RequestArbiter
  *                     |                             |      ^                    ^   |
  *                     |                       claim v      | tag, room          |   |
  *                     |                            ReturnPath                   |   | issue
  *   message --------------------------------------------------------------------+   v
  *                     +--- data of writes ------------------------------> RequestFramer ---> rq
  *   sequence ---> RequestNumbers --- number --------------------------------------^
  * }}}
  *
  * Order: a client's writes stay in order, its reads stay in order, and its reads never pass its
  * writes. Its writes may pass its reads, as on the link. A read that waits for its claim (of a tag
  * and space) does not hold up another client's write.
  *
  * Turns: TLPs take turns between the writing clients, the messages and the reads. A read request
  * is one beat on RQ. Reads may take further turns until they have had as many beats as the writes.
  * So if RQ is not fast enough for both reads and writes, each gets half of it. A write begins when
  * all its data is stored, so `valid` on RQ never falls inside a TLP.
  *
  * While `stop` is high, no new request is taken at the ports and no new TLP goes to RQ. `idle`
  * says that the last TLP has gone. While the host has bus mastering off, every request waits,
  * except for reads that already have a tag and TLPs that are already on their way to RQ. These
  * still go out.
  */
case class RequestPath(p: RequestParam) extends Component {
  import RequestPath._
  val io = new Bundle {
    val settings = in(HardBlock.LinkSettings())
    val stop     = in Bool ()
    val idle     = out Bool ()
    val clients  = Vec(slave(Stream(Fragment(Request()))), p.clients.size)
    val claim    = master(Stream(ReadClaim(p.readers.size)))
    val tag      = in UInt (Numbers.TagWidth bits) // The claimed read's tag, valid with claim.fire.
    val room     = in Vec (Bool(), p.readers.size) // Bit i: client i's ring for data has room.
    val message  = p.messages generate slave(MessagePort())
    val rq       = master(HardBlock.Rq())
    val sequence = in(HardBlock.SequencePins())
    val progress = out(Progress(p))
  }

  val settings = new Area {
    def dwords(code: UInt, most: Int): UInt = {
      val largest = log2Up(most / 128)
      RegNext(U(32, 8 bits) |<< ((code > largest) ? U(largest, 2 bits) | code(1 downto 0))) init 32
    }
    val payloadDwords = dwords(io.settings.maxPayload, RequestParam.MaxPayload)
    val readDwords    = dwords(io.settings.maxReadRequest, RequestParam.MaxReadRequest)
    val stop          = RegNext(io.stop) init False
    val enable        = RegNext(io.settings.busMaster && !io.stop) init False
  }

  val clients = for ((config, port) <- p.clients.zip(io.clients)) yield {
    val client = RequestClient(p, config).setName(s"client_${config.name}")
    client.io.payloadDwords := settings.payloadDwords
    client.io.readDwords    := settings.readDwords
    client.io.stop          := settings.stop
    client.io.request << port
    client
  }

  val numbers = RequestNumbers()
  numbers.io.pins := io.sequence

  val reads = RequestReads(p)
  reads.io.enable := settings.enable
  io.claim << reads.io.claim
  reads.io.tag  := io.tag
  reads.io.room := io.room

  val arbiter = RequestArbiter(RequestFramer.Issue(p), p.sources + 1)
  ModuleName(arbiter, "turns")
  val mayWrite = settings.enable && numbers.io.free
  val pieces =
    for ((client, config) <- clients.zip(p.clients)) yield new Area {
      val kind   = client.io.piece.write.asUInt
      val ways   = StreamDemux(client.io.piece, kind, 2)
      val reads  = ways(0)
      val writes = ways(1)
      // A client without reads, or without writes, never offers one. The output for it stays
      // blocked.
      if (!config.reads) reads.ready   := False
      if (!config.writes) writes.ready := False
    }
  for ((index, input) <- p.writers.zip(arbiter.io.inputs)) {
    val writes = pieces(index).writes
    input.arbitrationFrom(writes.continueWhen(mayWrite))
    input.payload.of(writes.payload)
    input.moreBeats := writes.moreBeats
    input.start     := writes.start
    input.tag       := 0
  }
  for ((index, read) <- p.readers.zip(reads.io.pieces)) read << pieces(index).reads
  arbiter.io.inputs.last << reads.io.issue

  /** Counts how many more beats on RQ the writes have had than the reads, up to about `most`. */
  val lead = new Area {
    val most  = RequestPath.MostLead
    val beats = Reg(UInt(log2Up(2 * most) bits)) init 0
    val more  = arbiter.io.output.moreBeats
    when(arbiter.io.output.fire) {
      when(!arbiter.io.grant.msb) {
        beats := (beats < most) ? (beats + more + 1) | beats
      } elsewhen (beats =/= 0) {
        beats := beats - 1
      }
    }
    arbiter.io.again := beats > 1
  }

  val framer = RequestFramer(p)
  framer.io.issue << arbiter.io.output
  framer.io.source := arbiter.io.grant.resize(p.sources)
  framer.io.number := numbers.io.number
  for ((index, i) <- p.writers.zipWithIndex) {
    val client = clients(index).io
    client.start      := framer.io.start
    client.next       := framer.io.next
    framer.io.data(i) := client.data
    client.freed << framer.io.freed(i)
  }
  io.rq << framer.io.rq

  val messages = p.messages generate new Area {
    val offer = io.message.offer
    val input = arbiter.io.inputs(p.writers.size)
    input.arbitrationFrom(offer.continueWhen(settings.enable))
    input.write         := True
    input.address       := offer.address >> 2
    input.dwords        := 1
    input.firstBe       := B"1111"
    input.lastBe        := B"0000"
    input.attributes    := 0 // No relaxed ordering: the message must stay behind the data.
    input.lastOfRequest := True
    input.moreBeats     := 0
    input.start         := U(0, p.positionBits bits) - RequestParam.Descriptor
    input.tag           := 0

    // RequestFramer takes the message's data a cycle after the message is issued. MessagePort keeps
    // the data unchanged until then.
    framer.io.data.last := offer.data.resized
    framer.io.withdraw  := io.message.withdraw
    io.message.shown    := framer.io.shown
    io.message.dropped  := framer.io.dropped
  }

  val issued = arbiter.io.output.fire
  numbers.io.issue := B(p.writers.indices.map(arbiter.io.inputs(_).fire)).orR
  val idle = RegNext(reads.io.idle && framer.io.idle && !issued) init False
  io.idle := idle

  val progress = new Area {
    val next = Progress(p)
    next.writeEntered := B(clients.map(client => client.io.entered && client.io.enteredWrite))
    next.readEntered  := B(clients.map(client => client.io.entered && !client.io.enteredWrite))
    next.writeIssued := B(p.clients.indices.map(p.writers.indexOf(_)).map {
      case -1 => False
      case i  => arbiter.io.inputs(i).fire && arbiter.io.inputs(i).lastOfRequest
    })
    next.issued         := numbers.io.issued
    next.returned       := numbers.io.returned
    next.waitsForClaim  := io.claim.valid && !io.claim.ready
    next.waitsForNumber := settings.enable && !numbers.io.free
    io.progress         := RegNext(next)
  }
}

object RequestPath {

  /** A write waits for about this many beats of reads at most: as many beats as a write of 512
    * bytes has.
    */
  val MostLead = 1 + RequestParam.MaxPayload / HardBlock.BeatBytes

  /** Tells the fences and the counters how far requests have gone. Each signal is a cycle late. */
  case class Progress(p: RequestParam) extends Bundle {
    // Bit i: client i has handed over a whole write request, or a read request.
    val writeEntered, readEntered = Bits(p.clients.size bits)
    // Bit i: the last TLP of a write request of client i goes to RQ.
    val writeIssued = Bits(p.clients.size bits)
    // Counts of write TLPs, modulo 64. `issued` counts those that went to RQ, `returned` those that
    // have left the hard block.
    val issued, returned = UInt(Numbers.SequenceWidth bits)
    val waitsForClaim    = Bool() // A read waits: it has no tag or no completion space yet.
    val waitsForNumber   = Bool() // Writes wait: too many have not left the hard block yet.
  }
}
