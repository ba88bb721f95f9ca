// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.endpoint

import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.completer.HostRequest
import lanebox.vocabulary.{LaneboxSim, Seed}

/** Tests SlavePort. Every dword of a host's request reaches the front end (a bus master of
  * LitePCIe) once, in order and with its byte enables. The host gets the data that the front end
  * gives. Each read gets an answer, even if the front end never gives one.
  */
class SlavePortTest extends AnyFunSuite {
  val timeout = 60
  lazy val compiled = LaneboxSim {
    val dut = SlavePort(SlavePortParam(timeout))
    Seq(dut.blocked, dut.expires, dut.answered, dut.write.drops, dut.write.dropping)
      .foreach(_.simPublic())
    dut
  }

  case class Access(write: Boolean, address: Int, enables: Int, data: Long, at: Long)
  case class Sent(request: HostRequest, writesBefore: Int)

  /** The two kinds of LitePCIe front end that may be connected to the slave port. */
  sealed trait FrontEnd
  // A front end that, as LitePCIe's Wishbone master, takes a read from the slave port only in the
  // cycle in which it answers the read.
  case object WishboneMaster extends FrontEnd
  // A front end that takes a read from the slave port at once, and answers it later.
  case class Queueing(errors: Double = 0) extends FrontEnd

  class Bench(dut: SlavePort, kind: FrontEnd, random: Random) {
    var cycle                       = 0L
    var requestGap, completionStall = 0.3
    var delay                       = 6
    // Returns whether the front end keeps the answer to an access back until `awake` is set.
    var hang: Access => Boolean = _ => false
    // While true, the front end gives the answers that it has kept back.
    var awake           = false
    val accesses        = mutable.ArrayBuffer[Access]()
    val accessesOfReads = mutable.ArrayBuffer[Access]()
    val writes          = mutable.ArrayBuffer[Access]()
    val sentReads       = mutable.Queue[Sent]()
    // The dwords that the host has written, as accesses that the front end must get.
    val wanted                                                = mutable.ArrayBuffer[Access]()
    var answered, successes, unsupported, aborts, lateAnswers = 0
    // The slave port's acts when a front end fails, counted from signals inside the port: reads
    // that time out, writes that it drops, and answers that no read waits for.
    var expired, droppedWrites, unwanted = 0
    // Cycles in which the slave port did not take a read that was offered to it.
    var heldReads                 = 0
    val completionsAt, requestsAt = mutable.ArrayBuffer[Long]()

    // The Completer's side of the bench -----------------------------------------------------------
    val queue                         = mutable.Queue[HostRequest]()
    private var driven                = false
    private var beat                  = 0
    private def beats(r: HostRequest) = if (r.posted) (r.dwords + 7) / 8 else 1

    private def stepRequest(): Unit = {
      val port = dut.io.port.request
      if (driven) {
        val r = queue.head
        if (port.ready.toBoolean) {
          driven = false
          beat += 1
          if (beat == beats(r)) {
            queue.dequeue()
            beat = 0
            requestsAt += cycle
            if (r.posted) {
              for (d <- 0 until r.dwords if r.enable(d) != 0)
                wanted += Access(true, r.offset + 4 * d, r.enable(d), r.payload(d), 0)
            } else sentReads += Sent(r, wanted.size)
          }
        } else if (!r.posted) heldReads += 1
      }
      val may = queue.nonEmpty && (queue.head.posted || sentReads.size < 32)
      if (!driven && may && (beat > 0 || random.nextDouble() >= requestGap)) {
        val r = queue.head
        driven = true
        port.write #= r.posted
        port.bar #= r.bar
        port.offset #= r.offset
        port.dwords #= r.dwords
        port.firstBe #= r.firstBe
        port.lastBe #= r.lastBe
        port.address #= r.address
        port.requester.id #= r.requester
        port.requester.tag #= r.tag
        port.requester.trafficClass #= r.trafficClass
        port.requester.attributes #= r.attributes
        port.requester.function #= r.function
        port.last #= beat + 1 == beats(r)
        val lanes = r.payload.slice(beat * 8, beat * 8 + 8)
        port.fragment.data #= HostRequest.pack(lanes ++ HostRequest.words(random, 8 - lanes.size))
      }
      port.valid #= driven
    }

    private var words = Vector[Long]()
    private var came  = 0
    private def stepCompletion(): Unit = {
      val c = dut.io.port.completion
      if (!c.valid.toBoolean) assert(words.isEmpty, "valid fell inside a completion")
      else if (c.ready.toBoolean) {
        assert(sentReads.nonEmpty, "a completion without an outstanding read")
        val Sent(r, before) = sentReads.head
        val status          = c.status.toInt
        assert(c.requester.id.toInt == r.requester && c.requester.tag.toInt == r.tag)
        assert(c.requester.trafficClass.toInt == r.trafficClass)
        assert(c.requester.attributes.toInt == r.attributes)
        assert(c.requester.function.toInt == r.function)
        val from = r.offset + came * 4
        assert(c.lowerAddress.toInt == (from & 0x7c) + (if (came == 0) r.skip else 0))
        assert(c.byteCount.toInt == (if (came == 0) r.span else r.span + r.skip - came * 4), s"$r")
        if (status != 0) {
          assert(words.isEmpty && c.last.toBoolean && c.final_.toBoolean)
          assert(c.request.address.toBigInt == r.address && c.request.dwords.toInt == r.dwords)
          assert(c.request.firstBe.toInt == r.firstBe && c.request.lastBe.toInt == r.lastBe)
          if (status == 1) unsupported += 1 else { assert(status == 4); aborts += 1 }
          finish(r, before, came * 4 / 4, failed = true)
        } else {
          val size = c.dwords.toInt
          assert(size == ((r.dwords - came) min ((128 - from % 128) / 4)), s"piece of $r")
          val count = (size - words.size) min 8
          for (i <- 0 until count)
            words = words :+ (c.fragment.data.toBigInt >> (32 * i) & 0xffffffffL).toLong
          assert(c.last.toBoolean == (words.size == size))
          if (words.size == size) {
            data ++= words
            words = Vector()
            came += size
            assert(c.final_.toBoolean == (came == r.dwords))
            if (came == r.dwords) { successes += 1; finish(r, before, came, failed = false) }
          }
        }
      }
      c.ready #= random.nextDouble() >= completionStall
    }

    private val data = mutable.ArrayBuffer[Long]()
    // The data of the front end's answers, by the number of the read access.
    private val replies = mutable.Map[Int, Long]()
    // For each read access, by its number: how many writes the front end had got before it.
    private val began = mutable.Map[Int, Int]()
    // How many of the front end's read accesses belong to reads of the host that were answered.
    private var used = 0

    /** Checks a read of the host that has been answered: the front end got the accesses for it in
      * order and after all earlier writes, and the host got the data that the front end gave.
      */
    private def finish(r: HostRequest, before: Int, got: Int, failed: Boolean): Unit = {
      var dword = 0
      var ended = false
      while (dword < r.dwords && !ended) {
        if (r.enable(dword) != 0) {
          if (used < accessesOfReads.size && belongs(r, dword)) {
            assert(dropsSeen || began(used) >= before, s"a read went ahead of a write: $r")
            if (dword < got)
              assert(replies.get(used).contains(data(dword)), s"data of dword $dword of $r")
            used += 1
          } else { assert(failed, s"dword $dword of $r was not read"); ended = true }
        } else if (dword < got) assert(data(dword) == 0)
        dword += 1
      }
      data.clear()
      came = 0
      answered += 1
      completionsAt += cycle
      sentReads.dequeue()
    }
    private def belongs(r: HostRequest, dword: Int): Boolean = {
      val a = accessesOfReads(used)
      a.address == r.offset + 4 * dword && a.enables == r.enable(dword)
    }
    def dropsSeen: Boolean = droppedWrites > 0
    def stuck: Boolean     = dut.blocked.toBoolean

    private def stepProbes(): Unit = {
      if (dut.expires.toBoolean) expired += 1
      if (dut.write.drops.toBoolean && !dut.write.dropping.toBoolean) droppedWrites += 1
      val answers = dut.io.sink.valid.toBoolean && dut.io.sink.last.toBoolean
      if (answers && !dut.answered.toBoolean) unwanted += 1
    }

    // The front end's side of the bench -----------------------------------------------------------
    // Cycles until the front end is done with the dword that is offered; -1: no dword is offered.
    private var left    = -1
    private var answers = mutable.Queue[(Long, Int, Access, Int)]()
    private var showing = false
    private def seen(): Access = {
      val s = dut.io.source
      assert(s.first.toBoolean && s.last.toBoolean && s.len.toInt == 1 && s.lastBe.toInt == 0)
      assert(s.channel.toInt == 0)
      Access(
        s.we.toBoolean,
        s.adr.toLong.toInt,
        s.firstBe.toInt,
        (s.dat.toBigInt & 0xffffffffL).toLong,
        cycle
      )
    }
    private var offer: Option[(Access, Int)] = None

    private def note(a: Access): Int = {
      accesses += a
      if (a.write) { writes += a; -1 }
      else {
        accessesOfReads += a
        began(accessesOfReads.size - 1) = writes.size
        accessesOfReads.size - 1
      }
    }
    private def reply(number: Int, tag: Int, error: Boolean): Unit = {
      val word = HostRequest.words(random, 1).head
      replies(number) = word
      dut.io.sink.valid #= true
      dut.io.sink.dat #= word | (BigInt(random.nextInt()) << 32).abs
      dut.io.sink.tag #= tag
      dut.io.sink.err #= error
      dut.io.sink.last #= true
      dut.io.sink.first #= true
      dut.io.sink.end #= !error
    }

    private def stepFront(): Unit = {
      assert(dut.io.sink.ready.toBoolean)
      val s     = dut.io.source
      val valid = s.valid.toBoolean
      val now   = if (valid) Some((seen().copy(at = 0), s.tag.toInt)) else None
      assert(offer.isEmpty || offer == now, "an offered dword changed or was taken back")
      val taken = valid && s.ready.toBoolean
      offer = if (taken) None else now
      dut.io.sink.valid #= false
      dut.io.sink.tag #= random.nextInt(256)
      dut.io.source.ready #= false
      kind match {
        case WishboneMaster =>
          if (taken) { left = -1 }
          else if (valid && left < 0) {
            left = if (hang(seen())) 1000000 else random.nextInt(delay)
            if (!seen().write) note(seen())
          } else if (left > 0) left -= 1
          if (left > 1000 && awake) left = 0
          if (valid && left == 0 && !taken) {
            dut.io.source.ready #= true
            if (s.we.toBoolean) note(seen())
            else reply(accessesOfReads.size - 1, s.tag.toInt, false)
          }
        case Queueing(errors) =>
          if (taken) {
            val a      = seen()
            val number = note(a)
            if (!a.write)
              answers += ((
                if (hang(a)) Long.MaxValue else cycle + random.nextInt(delay),
                number,
                a,
                s.tag.toInt
              ))
          }
          val due = answers.find(x => x._1 <= cycle || (awake && x._1 == Long.MaxValue))
          for (x <- due) {
            answers = answers.filterNot(_ == x)
            reply(x._2, x._4, random.nextDouble() < errors)
          }
          dut.io.source.ready #= random.nextInt(3) > 0
      }
    }

    def start(): Unit = {
      dut.io.port.request.valid #= false
      dut.io.port.completion.ready #= false
      dut.io.sink.valid #= false
      dut.io.source.ready #= false
      dut.clockDomain.forkStimulus(10)
      dut.clockDomain.onSamplings {
        cycle += 1
        stepProbes()
        stepRequest()
        stepCompletion()
        stepFront()
      }
    }
    def runUntil(done: => Boolean, limit: Int): Unit = {
      var budget = limit
      while (!done) {
        assert(budget > 0, s"still not done after $limit cycles")
        budget -= 1
        dut.clockDomain.waitSampling()
      }
    }
    def finished: Boolean = queue.isEmpty && sentReads.isEmpty && !driven
    def checkWrites(): Unit = {
      assert(writes.size == wanted.size, "dwords written")
      for ((a, b) <- writes.zip(wanted)) assert(a.copy(at = 0) == b)
    }
  }

  def any(random: Random, tag: Int, most: Int): HostRequest = {
    val write = random.nextBoolean()
    val where = BigInt(random.nextInt() & 0xffffffffL) * (1 << 20) + random.nextInt(1 << 18) * 4
    val room  = (4096 - (where % 4096).toInt) / 4
    val dwords =
      (if (random.nextBoolean()) 1 + random.nextInt(3) else 1 + random.nextInt(most)) min room
    val (first, last) = HostRequest.enables(random, where, dwords)
    HostRequest(
      if (write) 1 else 0,
      where,
      dwords,
      first,
      last,
      0,
      20,
      random.nextInt(1 << 16),
      tag,
      random.nextInt(256),
      random.nextInt(8),
      random.nextInt(8),
      HostRequest.words(random, if (write) dwords else 0)
    )
  }

  def run(name: String, kind: FrontEnd)(body: (SlavePort, Bench, Random) => Unit): Unit =
    test(s"$name, seed ${Seed.value}") {
      compiled.doSim(name.filter(_.isLetterOrDigit), Seed.value) { dut =>
        val random = new Random(Seed.value * 104729L + name.hashCode)
        val bench  = new Bench(dut, kind, random)
        body(dut, bench, random)
      }
    }

  for (
    (name, kind) <- Seq("LitePCIeWishboneMaster" -> WishboneMaster, "a queueing one" -> Queueing())
  )
    run(s"all requests through a front end like $name", kind) { (dut, bench, random) =>
      bench.queue ++= Seq.tabulate(500)(i => any(random, i % 256, if (i % 50 == 0) 1024 else 70))
      bench.start()
      bench.runUntil(bench.finished, 1000000)
      dut.clockDomain.waitSampling(100)
      bench.checkWrites()
      assert(bench.unsupported == 0 && bench.aborts == 0)
      assert(bench.answered > 200 && bench.heldReads == 0, "a read held up the Completer")
      assert(bench.expired == 0 && bench.unwanted == 0)
    }

  run(
    "errors of a front end alone become Unsupported Requests",
    Queueing(errors = 0.02)
  ) {
    (dut, bench, random) =>
      bench.queue ++= Seq.tabulate(500)(i => any(random, i % 256, 70))
      bench.start()
      bench.runUntil(bench.finished, 1000000)
      dut.clockDomain.waitSampling(100)
      bench.checkWrites()
      assert(bench.unsupported > 20 && bench.successes > 50 && bench.aborts == 0)
  }

  run("each answer that never comes causes one abort; late answers are dropped", Queueing()) {
    (dut, bench, random) =>
      bench.queue ++= Seq.tabulate(400)(i => any(random, i % 256, 20))
      bench.hang = _ => random.nextInt(40) == 0
      bench.start()
      for (_ <- 0 until 60) {
        // The front end's kept answers come either before the slave port's timeout or after it.
        bench.awake = random.nextBoolean()
        dut.clockDomain.waitSampling(random.nextInt(200))
      }
      bench.awake = false
      bench.runUntil(bench.finished, 1000000)
      bench.awake = true
      dut.clockDomain.waitSampling(300)
      bench.checkWrites()
      assert(bench.aborts > 5 && bench.successes > 100)
      assert(bench.expired == bench.aborts)
      assert(bench.unwanted > 0)
      assert(!bench.stuck && bench.droppedWrites == 0)
  }

  run(
    "while a read is stuck, reads are aborted and writes dropped; then all works",
    WishboneMaster
  ) {
    (dut, bench, random) =>
      bench.requestGap = 0
      bench.completionStall = 0
      bench.start()
      bench.hang = !_.write
      bench.queue += HostRequest(0, 0x100, 4, 15, 15, aperture = 20)
      bench.runUntil(bench.finished, timeout + 20)
      assert(bench.aborts == 1 && bench.stuck)
      val writes = 200
      bench.queue ++= Seq.tabulate(writes + 32)(i =>
        if (i % 7 == 0 && i / 7 < 32) HostRequest(0, i * 4, 1, 15, 0, aperture = 20, tag = i)
        else HostRequest(
          1,
          i * 512,
          64,
          15,
          15,
          aperture = 20,
          payload = HostRequest.words(random, 64)
        )
      )
      bench.runUntil(bench.finished, 232 * 10)
      dut.clockDomain.waitSampling(5)
      assert(bench.aborts == 33 && bench.writes.isEmpty && bench.heldReads == 0)
      assert(bench.droppedWrites == writes)
      assert(bench.expired == 1)
      // The Wishbone bus now answers the first read after all. The slave port drops this late
      // answer, and the next read gets the right data.
      bench.hang = _ => false
      bench.awake = true
      bench.runUntil(!bench.stuck, 20)
      bench.queue ++= Seq.tabulate(20)(i =>
        HostRequest(0, i * 64, 16, 15, 15, aperture = 20, tag = i)
      )
      bench.runUntil(bench.finished, 5000)
      dut.clockDomain.waitSampling(5)
      assert(bench.successes == 20 && bench.unwanted == 1)
  }

  run(
    "stuck in a write: it times out, the rest of it is dropped, later ones arrive",
    WishboneMaster
  ) {
    (dut, bench, random) =>
      bench.start()
      bench.hang = _ => true
      bench.queue += HostRequest(
        1,
        0,
        20,
        15,
        15,
        aperture = 20,
        payload = HostRequest.words(random, 20)
      )
      bench.queue += HostRequest(0, 0, 1, 15, 0, aperture = 20)
      bench.runUntil(bench.finished, 3 * timeout)
      assert(bench.aborts == 1 && bench.stuck && bench.droppedWrites == 1)
      bench.hang = _ => false
      bench.awake = true
      bench.runUntil(!bench.stuck, 20)
      bench.wanted.clear()
      bench.writes.clear()
      bench.queue += HostRequest(
        1,
        64,
        20,
        15,
        15,
        aperture = 20,
        payload = HostRequest.words(random, 20)
      )
      bench.runUntil(bench.finished && bench.writes.size == 20, 1000)
      bench.checkWrites()
  }

  run("writes pass a read that waits, and neither starves", WishboneMaster) {
    (dut, bench, random) =>
      bench.requestGap = 0
      bench.completionStall = 0
      bench.start()
      bench.queue += HostRequest(0, 0, 1024, 15, 15, aperture = 20)
      bench.queue ++= Seq.fill(60)(
        HostRequest(1, 0x2000, 8, 15, 15, aperture = 20, payload = HostRequest.words(random, 8))
      )
      bench.runUntil(bench.writes.size == 480, 20000)
      // Dwords of writes and reads alternate. The host's read is answered in pieces of 128 bytes,
      // and between two dwords of a piece there is one write. After a piece only writes go on,
      // until the completion of that piece has left.
      val reads = bench.accesses.zipWithIndex.collect { case (a, n) if !a.write => n }
      for (((a, b), n) <- reads.zip(reads.tail).zipWithIndex if (n + 1) % 32 != 0)
        assert(b - a == 2, s"accesses between the reads $n and ${n + 1}")
      assert(bench.successes == 0 && bench.accessesOfReads.size >= 470)
      assert(bench.accessesOfReads.size <= 520)
      bench.runUntil(bench.finished, 20000)
      bench.checkWrites()
  }

  run("with completions refused for ever writes go on", WishboneMaster) { (dut, bench, random) =>
    bench.completionStall = 1.0
    bench.start()
    bench.queue ++= Seq.tabulate(32)(i =>
      HostRequest(0, i * 128, 32, 15, 15, aperture = 20, tag = i)
    )
    bench.queue ++= Seq.fill(100)(any(random, 0, 20)).map(r =>
      r.copy(kind = 1, payload = HostRequest.words(random, r.dwords))
    )
    bench.runUntil(bench.queue.isEmpty && bench.writes.size == bench.wanted.size, 40000)
    bench.checkWrites()
    assert(bench.answered == 0 && bench.heldReads == 0)
    bench.completionStall = 0
    bench.runUntil(bench.finished, 20000)
    assert(bench.successes == 32)
  }
}
