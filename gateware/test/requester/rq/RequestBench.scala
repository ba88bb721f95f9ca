// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rq

import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

/** How busy the clients, the hard block and the return path around a RequestPath are, and how often
  * they stall. All chances are in percent in a cycle.
  */
case class RequestMood(
    rqReady: Int = 100,
    claimReady: Int = 100,
    returns: Int = 100,    // Chance that the hard block returns a waiting sequence number.
    lost: Int = 0,         // Chance that the hard block never returns a sequence number.
    gaps: Int = 0,         // Chance of a pause in the requests that clients offer.
    answerDelay: Int = 20, // Longest delay of a read's data, in cycles.
    tags: Int = 64
)

/** Test bench of a RequestPath. The bench stands for the clients, the hard block's RQ and the
  * return path.
  *
  * The bench knows all requests, and a TLP's address tells its client. So the bench checks that
  * each TLP is the next one of its client, cut where RequestModel cuts it, with the right bytes.
  */
class RequestBench(dut: FencedRequests, mps: Int, mrrs: Int) {
  private val param   = dut.p
  private val clients = param.clients.indices
  val random          = new Random(simRandom.nextLong())
  var mood            = RequestMood()
  var now             = 0L

  // For each client: how many of its requests RequestPath has taken in full.
  val enteredReads, enteredWrites = Array.fill(clients.size)(0)
  // For each client: writes whose last TLP was seen on RQ.
  val sentWrites = Array.fill(clients.size)(0)
  // For each client: writes whose last TLP has left the hard block, so that its sequence number has
  // come back.
  val confirmedWrites = Array.fill(clients.size)(0)
  val deliveredReads  = Array.fill(clients.size)(0)
  val tlps            = mutable.ArrayBuffer[RequestTlp]()
  // For each TLP: the cycle in which the hard block took its last beat on RQ.
  val ends  = mutable.ArrayBuffer[Long]()
  var beats = 0L
  // The largest number of write TLPs that were taken on RQ and whose sequence number had not come
  // back.
  var mostUnconfirmed = 0

  private def chance(percent: Int) = random.nextInt(100) < percent

  // --- The clients of RequestPath ----------------------------------------------------------------

  /** A client's request that is on its way, and which of the request's TLPs is expected next. */
  private class Going(val request: ClientRequest, val writesBefore: Int) {
    private val largest = (if (request.write) mps else mrrs) / 4
    private val cuts    = RequestModel.cuts(request.address, request.dwords, largest)
    private var tlp     = 0
    var at              = 0
    def size            = cuts(tlp)
    def last            = tlp == cuts.size - 1
    def firstBe         = request.enables(at)
    def lastBe          = if (size == 1) 0 else request.enables(at + size - 1)
    def step(): Unit = {
      at += size
      tlp += 1
    }
  }

  private class Client(index: Int) {
    val onClaim = mutable.Queue[Going]()
    val onRq    = Map(true -> mutable.Queue[Going](), false -> mutable.Queue[Going]())
    var writes  = 0
    // For each outstanding read: the cycle from which on its data may be delivered.
    val answers = mutable.Queue[Long]()
    val sender  = new RequestSender(dut.io.clients(index), random)(chance(mood.gaps))
    sender.onTaken = request => (if (request.write) enteredWrites else enteredReads) (index) += 1
  }
  private val parties = clients.map(new Client(_))

  /** Returns the address of a random page that belongs to the client, below 4 GiB or above. */
  def page(client: Int): BigInt = {
    val high = if (random.nextBoolean()) BigInt(0) else BigInt(32, random)
    (high << 32) + (BigInt(client) << 28) + (random.nextInt(1 << 14) << 12)
  }
  private def owner(address: BigInt): Int = ((address >> 28) & 0xf).toInt

  /** Queues a request at the client that owns its address. */
  def ask(request: ClientRequest): Unit = {
    val party = parties(owner(request.address))
    party.sender.queue += request
    party.onRq(request.write) += new Going(request, party.writes)
    if (request.write) party.writes += 1 else party.onClaim += new Going(request, party.writes)
  }
  def askAny(client: Int): Unit = {
    val config  = param.clients(client)
    val write   = config.writes && (!config.reads || random.nextBoolean())
    val address = page(client) + RequestModel.anyOffset(random)
    ask(RequestModel.random(random, write, address, RequestModel.anyDwords(random)))
  }
  def waiting(client: Int): Int = parties(client).sender.queue.size
  // Number of read TLPs that have a tag and have not been seen on RQ.
  def unissued: Int = claims.size
  def done: Boolean = parties.forall { party =>
    party.onRq.values.forall(_.isEmpty) && party.answers.isEmpty
  }

  // --- The return path ---------------------------------------------------------------------------

  private case class Claim(client: Int, at: Int, size: Int, last: Boolean)
  // Read TLPs that have a tag and have not been seen on RQ, by tag.
  private val claims = mutable.Map[Int, Claim]()
  // For each tag of a read that was seen on RQ: the cycle in which the tag is free again.
  private val busy = mutable.Map[Int, Long]()

  private def stepClaim(): Unit = {
    if (dut.io.claim.valid.toBoolean && dut.io.claim.ready.toBoolean) takeClaim()
    busy.filterInPlace((_, until) => until > now)
    val free = (0 until mood.tags).filterNot(tag => busy.contains(tag) || claims.contains(tag))
    dut.io.claim.ready #= free.nonEmpty && chance(mood.claimReady)
    dut.io.tag #= (if (free.isEmpty) 0 else free(random.nextInt(free.size)))
  }

  private def takeClaim(): Unit = {
    val claim  = dut.io.claim.payload
    val client = param.readers(claim.client.toInt)
    val queue  = parties(client).onClaim
    val going  = queue.head
    import going.request
    assert(claim.context.toInt == request.context && claim.requestDwords.toInt == request.dwords)
    assert(claim.dwords.toInt == going.size, s"claim of ${claim.dwords.toInt}, not ${going.size}")
    assert(claim.address.toInt == ((request.address + 4 * going.at) & 0xfff).toInt)
    assert(claim.firstBe.toInt == going.firstBe && claim.lastBe.toInt == going.lastBe)
    assert(claim.lastOfRequest.toBoolean == going.last)
    claims(dut.io.tag.toInt) = Claim(client, going.at, going.size, going.last)
    going.step()
    if (claim.lastOfRequest.toBoolean) queue.dequeue()
  }

  private def stepAnswers(): Unit = for ((client, i) <- param.readers.zipWithIndex) {
    val pulse = dut.io.delivered(i)
    if (pulse.toBoolean) deliveredReads(client) += 1
    val answers = parties(client).answers
    pulse #= answers.headOption.exists(_ <= now)
    if (answers.headOption.exists(_ <= now)) answers.dequeue()
  }

  // --- The hard block's RQ -----------------------------------------------------------------------

  // The beat that the card offers on RQ and that the hard block has not taken yet.
  private var offered = Option.empty[Seq[BigInt]]
  private var head    = (0, 0, 0)
  private val dwords  = mutable.ArrayBuffer[Long]()
  // Sequence numbers of write TLPs that have not come back, each with the client if that TLP ends a
  // request.
  private val writeNumbers = mutable.Queue[(Int, Option[Int])]()
  private val readNumbers  = mutable.Queue[Int]()
  private var writeTlps    = 0
  var confirmedTlps        = 0

  /** Returns the number of write TLPs that had been given a sequence number two cycles ago. A TLP
    * is on RQ later than that.
    */
  def numberedTlps: Int = writeTlps + ((dut.path.io.progress.issued.toInt - writeTlps) & 63)

  private def stepRq(): Unit = {
    val rq    = dut.io.rq
    val valid = rq.valid.toBoolean
    assert(valid || dwords.isEmpty, "valid fell inside a TLP")
    assert(valid || offered.isEmpty, "an offered beat was taken back")
    if (valid) {
      val beat = Seq(rq.data.toBigInt, rq.keep.toBigInt, BigInt(if (rq.last.toBoolean) 1 else 0)) ++
        (if (dwords.isEmpty) Seq(rq.firstBe, rq.lastBe).map(_.toBigInt) :+ rq.sequence.toBigInt
         else Nil)
      assert(offered.forall(_ == beat), "an offered beat has changed")
      offered = if (rq.ready.toBoolean) None else Some(beat)
      if (rq.ready.toBoolean) takeBeat(beat)
    }
    rq.ready #= chance(mood.rqReady)
  }

  private def takeBeat(beat: Seq[BigInt]): Unit = {
    beats += 1
    if (dwords.isEmpty) head = (beat(3).toInt, beat(4).toInt, beat(5).toInt)
    val last = beat(2) == 1
    val keep = beat(1).toInt
    assert(keep != 0 && (keep & (keep + 1)) == 0, s"keep $keep has holes")
    assert(last || keep == 0xff, s"keep $keep inside a TLP")
    for (lane <- 0 until Integer.bitCount(keep))
      dwords += ((beat.head >> (32 * lane)) & 0xffffffffL).toLong
    if (last) {
      takeTlp(RequestModel.decode(dwords.toIndexedSeq, head))
      dwords.clear()
    }
  }

  private def takeTlp(tlp: RequestTlp): Unit = {
    RequestModel.check(tlp, mps, mrrs)
    tlps += tlp
    ends += now
    val client = owner(tlp.address)
    val going  = parties(client).onRq(tlp.write).head
    import going.request
    assert(tlp.address == request.address + 4 * going.at, s"$tlp is not of $request at ${going.at}")
    assert(tlp.dwords == going.size, s"$tlp does not have ${going.size} dwords of $request")
    assert(tlp.firstBe == going.firstBe && tlp.lastBe == going.lastBe, s"$tlp is not of $request")
    assert(tlp.attributes == request.attributes)
    if (tlp.write) {
      val data = request.data.slice(going.at, going.at + going.size)
      assert(tlp.data == data, s"$tlp is not of $request")
    }
    val last = going.last
    if (tlp.write) takeWrite(tlp, client, last) else takeRead(tlp, client, going)
    going.step()
    if (last) parties(client).onRq(tlp.write).dequeue()
  }

  private def takeWrite(tlp: RequestTlp, client: Int, last: Boolean): Unit = {
    assert(tlp.sequence == writeTlps % 32, s"wrong sequence number in $tlp, write $writeTlps")
    writeNumbers += ((tlp.sequence, Option.when(last)(client)))
    writeTlps += 1
    mostUnconfirmed = mostUnconfirmed max (writeTlps - confirmedTlps)
    if (last) sentWrites(client) += 1
  }

  private def takeRead(tlp: RequestTlp, client: Int, going: Going): Unit = {
    assert(sentWrites(client) >= going.writesBefore, s"$tlp passed a write of its client")
    val claim = claims.remove(tlp.tag)
    assert(
      claim.exists(c => c.client == client && c.at == going.at && c.size == tlp.dwords),
      s"$tlp has the tag of $claim"
    )
    assert(tlp.sequence >= 32, s"a read has the sequence number of a write: $tlp")
    readNumbers += tlp.sequence
    val due = now + 1 + random.nextInt(mood.answerDelay)
    busy(tlp.tag) = due
    if (claim.get.last) parties(client).answers += due
  }

  /** Returns up to two sequence numbers to the card in this cycle. Those of reads may come in any
    * order relative to those of writes.
    */
  private def stepNumbers(): Unit = {
    for (pin <- dut.io.sequence.numbers) {
      pin.valid #= false
      pin.payload #= random.nextInt(64)
    }
    val pins = if (random.nextBoolean()) Seq(0, 1) else Seq(1, 0)
    for (pin <- pins if chance(mood.returns)) {
      val number =
        if (readNumbers.nonEmpty && random.nextBoolean())
          Some(readNumbers.dequeue())
        else Option.when(writeNumbers.nonEmpty) {
          val (number, client) = writeNumbers.dequeue()
          confirmedTlps += 1
          client.foreach(confirmedWrites(_) += 1)
          number
        }
      for (n <- number if !chance(mood.lost)) {
        dut.io.sequence.numbers(pin).valid #= true
        dut.io.sequence.numbers(pin).payload #= n
      }
    }
  }

  // --- The start and the cycles of the bench -----------------------------------------------------

  dut.io.settings.maxPayload #= log2(mps / 128)
  dut.io.settings.maxReadRequest #= log2(mrrs / 128)
  dut.io.settings.busMaster #= true
  dut.io.stop #= false
  dut.io.room.foreach(_ #= true)
  dut.io.delivered.foreach(_ #= false)
  dut.io.claim.ready #= false
  dut.io.rq.ready #= false
  dut.io.sequence.numbers.foreach(_.valid #= false)
  dut.io.messages.foreach(_.valid #= false)
  dut.io.passed.foreach(_.ready #= false)
  private def log2(n: Int) = Integer.numberOfTrailingZeros(n)

  dut.clockDomain.onSamplings {
    now += 1
    parties.foreach(_.sender.cycle())
    stepClaim()
    stepAnswers()
    stepRq()
    stepNumbers()
  }

  /** Waits until all requests of all clients are done. Fails if that takes longer than `cycles`. */
  def finish(cycles: Int = 200000): Unit = {
    val end = now + cycles
    while (!done && now < end) dut.clockDomain.waitSampling(16)
    assert(done, s"something is stuck after $cycles cycles: ${clients.map(waiting)} wait")
    assert(claims.isEmpty && parties.forall(_.onClaim.isEmpty))
  }
}
