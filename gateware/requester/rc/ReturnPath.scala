// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rc

import spinal.core._
import spinal.lib._

import lanebox.vocabulary._

/** Takes completions from RC to the clients whose reads they answer. Each client gets its data in
  * the order of its own reads.
  *
  * {{{
  *   A completion:
  *   rc ---> RcUnpacker --- visit ---> ReadTable --- landing, verdict ---> CompletionLander
  *               |                                                          ^    |      |
  *               +--- step -------------------------------------------------+    |      | end
  *                                                                         write |      v
  *   returns(i) <--- ReadDelivery <--- data --- LandingMemory <------------------+   ReadEnds
  *                         ^                                                            |
  *                         +--- finished -----------------------------------------------+
  *   A claim:
  *   claim ---> ReadClaims --- issue ---> ReadTable           a read that is expected
  *   tag   <---   ^    ^  \--- awaited ---> ReadDelivery      the order of the client's reads
  *                |    +--- fits --- CompletionCredits <--- space --- ReadTable
  *                +--- a tag --- TagPool <--- free --- ReadEnds
  * }}}
  *
  * Completions land in LandingMemory in any order. ReadClock tells the table which reads have
  * waited too long.
  *
  * A claim reserves for a read TLP, before it goes out, a tag, space in the landing memory, and
  * space for its completions in the hard block's receive buffer. So RC is never held up.
  *
  * A read ends with its last completion, as the hard block marks it, or with the hard block's
  * report that no completion will come. Otherwise it times out: after `timeoutCycles` (4,096 or
  * more; 0: never), or up to a quarter of that later. All beats that hold dwords of a failed read
  * are zero and carry the error.
  *
  * The tag of a read that timed out is not used until the read's last completion has come after
  * all, or until three timeouts have passed since the claim. The read's completion space stays
  * reserved as long, since a late completion will lie there. Afterwards the tag is given to another
  * read only if no other tag is free.
  *
  * A completion that comes still later is dropped and counted as unexpected. If its tag belongs to
  * a new read by then, the completion is taken for the new read's answer only if its byte count and
  * lower address are what the new read waits for.
  *
  * `room(i)` says that the ring of client i has room for another read. The module that chooses
  * among the clients (RequestReads) must not claim for client i while `room(i)` is low.
  */
case class ReturnPath(p: ReturnParam) extends Component {
  val io = new Bundle {
    val rc    = slave(HardBlock.Rc())
    val claim = slave(Stream(ReadClaim(p.clients)))
    // The claimed read's tag, valid with claim.fire.
    val tag     = out UInt (Numbers.TagWidth bits)
    val room    = out Vec (Bool(), p.clients)
    val returns = Vec(master(Stream(Fragment(ReadData()))), p.clients)
    // Bit i: client i has taken the last beat of the data of a request.
    val delivered     = out Vec (Bool(), p.clients)
    val rcb128        = in Bool ()
    val extendedTags  = in Bool ()
    val timeoutCycles = in UInt (32 bits)
    val clear         = in Bool ()
    val idle          = out Bool () // No read is outstanding, and no data waits for delivery.
    val statistics    = out(ReturnStatistics())
  }

  val unpacker = RcUnpacker(p.tagWidth)
  val clock    = ReadClock(p)
  val reads    = ReadTable(p)
  val lander   = CompletionLander(p)
  val ends     = ReadEnds(p)
  val claims   = ReadClaims(p)
  val credits  = CompletionCredits(p.completionPool)
  val tags     = TagPool(p)
  val memory   = LandingMemory(p)
  val delivery = ReadDelivery(p)

  unpacker.io.rc << io.rc
  unpacker.io.probe << clock.io.probe
  clock.io.timeoutCycles := io.timeoutCycles

  claims.io.claim << io.claim
  io.tag           := claims.io.tag
  claims.io.rcb128 := io.rcb128
  claims.io.tick   := clock.io.tick
  tags.io.extended := io.extendedTags
  io.room          := delivery.io.room

  credits.io.offered << claims.io.offered
  credits.io.take << claims.io.take
  credits.io.give << reads.io.space
  claims.io.fits := credits.io.fits

  reads.io.tick := clock.io.tick
  reads.io.visit << unpacker.io.visit
  lander.io.step << unpacker.io.step
  lander.io.landing << reads.io.landing
  lander.io.verdict << reads.io.verdict
  memory.io.write << lander.io.write
  ends.io.end << lander.io.end

  delivery.io.awaited << claims.io.awaited
  delivery.io.client := claims.io.client
  delivery.io.finished << ends.io.finished
  delivery.io.ends := claims.io.ends
  memory.io.read << delivery.io.read
  delivery.io.data := memory.io.data
  for ((client, data) <- io.returns.zip(delivery.io.returns)) client << data
  io.delivered := delivery.io.delivered

  /** Clears the memories after reset, since a memory has no reset of its own, and fills the tag
    * pool. A counter runs through all tags and read numbers.
    */
  val start = new Area {
    val count = Reg(UInt(p.orderWidth + 1 bits)) init 0
    val runs  = !count.msb
    when(runs) { count := count + 1 }
    val tag = TagPool.FreeTag(p)
    tag.tag        := count.resized
    tag.generation := False
    val ofTag  = runs && count < p.tags
    val filled = !runs
    claims.io.tags << tags.io.pop.continueWhen(filled)

    delivery.io.clear.valid   := runs
    delivery.io.clear.payload := count.resized
    reads.io.clear            := ofTag
    reads.io.issue.valid      := claims.io.issue.valid || ofTag
    reads.io.issue.payload    := claims.io.issue.payload
    when(ofTag) {
      reads.io.issue.tag              := tag.tag
      reads.io.issue.entry.generation := False
    }
    ends.io.clear.valid   := ofTag
    ends.io.clear.payload := tag
    tags.io.free.valid    := ends.io.free.valid || ofTag
    tags.io.free.payload  := ofTag ? tag | ends.io.free.payload
    tags.io.suspect       := ends.io.suspect && !ofTag
  }

  val outstanding = Reg(UInt(p.tagWidth + 2 bits)) init 0
  outstanding := outstanding + claims.io.take.valid.asUInt - ends.io.finished.valid.asUInt
  val idle = RegNext(
    outstanding === 0 && !io.claim.fire && !claims.io.take.valid && !claims.io.awaited.valid &&
      delivery.io.idle
  ) init False
  io.idle := idle

  /** The counters behind the registers of the return path. Each counts its event a cycle late. */
  val counts = new Area {
    def count(event: Bool): EventCounter = EventCounter(event, io.clear)
    def failed(error: SpinalEnumElement[ReadError.type]): EventCounter =
      count(ends.io.finished.valid && ends.io.finished.error === error)
    val seen = reads.io.verdict

    val unsupported  = failed(ReadError.unsupported)
    val aborted      = failed(ReadError.aborted)
    val poisoned     = failed(ReadError.poisoned)
    val timeouts     = failed(ReadError.timeout)
    val malformed    = failed(ReadError.malformed)
    val cut          = failed(ReadError.cut)
    val unexpected   = count(seen.valid && seen.unexpected)
    val late         = count(seen.valid && seen.late)
    val duplicates   = count(seen.valid && seen.duplicate)
    val backPressure = count(io.rc.valid && !io.rc.ready)

    io.statistics.unsupported  := unsupported.count
    io.statistics.aborted      := aborted.count
    io.statistics.poisoned     := poisoned.count
    io.statistics.timeouts     := timeouts.count
    io.statistics.malformed    := malformed.count
    io.statistics.cut          := cut.count
    io.statistics.unexpected   := unexpected.count
    io.statistics.late         := late.count
    io.statistics.duplicates   := duplicates.count
    io.statistics.backPressure := backPressure.count
  }
}
