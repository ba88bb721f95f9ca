// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rc

import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable
import scala.language.reflectiveCalls
import spinal.core.sim._

import lanebox.vocabulary.{ReadError, Seed}

/** Tests that a read's tag becomes free again after the read's timeout, and that completions that
  * still come for the read harm no other read.
  */
class ReadTableTest extends AnyFunSuite {
  // The shortest timeout, in cycles, that the return path allows. Most of it is the time in which
  // the card walks over all tags to find a timed-out read.
  val timeout = 4096L
  val rounds  = 4

  val whole  = Shape(0, 256)
  val longer = Shape(0, 288)

  /** Loses the host's answer to the next read if `losing` is set. Notes the tags of all reads in
    * order.
    */
  class Loss extends Faults {
    var losing                    = false
    val order                     = mutable.Buffer[Int]()
    var pieces: Seq[RcCompletion] = Nil
    var tag                       = -1

    def strike(read: HostRead, whole: Seq[RcCompletion], host: ReturnHost) = {
      order += read.tag
      if (losing) {
        losing = false
        tag = read.tag
        pieces = whole.map(_.copy(read = None))
        read.claim.errors += ReadError.timeout
        host.expire(read, timeout * 5 / 2)
        Nil
      } else whole.map((_, 0L))
    }
  }

  /** Shape of a read: its offset in a page of host memory and its length in whole dwords, both in
    * bytes, and its byte enables.
    */
  case class Shape(offset: Int, bytes: Int, firstBe: Int = 15, lastBe: Int = 15)

  class Late(val bench: ReturnBench, tags: Int) {
    val loss             = new Loss
    private val requests = mutable.Queue[TestRequest]()
    var lostAt           = 0L
    private var lostPage = 0
    bench.host.faults = loss
    bench.clients.request =
      client => Option.when(client == 0 && requests.nonEmpty)(requests.dequeue())

    def unexpected: Long = bench.dut.io.statistics.unexpected.toLong
    def late: Long       = bench.dut.io.statistics.late.toLong
    def duplicates: Long = bench.dut.io.statistics.duplicates.toLong

    private def ask(shape: Shape, page: Int): Unit = {
      val address = page * 4096 + shape.offset
      requests += TestRequest(address, shape.bytes / 4, shape.firstBe, shape.lastBe, 0)
    }
    def ask(count: Int, shape: Shape): Unit =
      for (_ <- 0 until count) ask(shape, bench.random.nextInt(60))

    def quiet: Boolean = requests.isEmpty && bench.clients.idle

    def lose(shape: Shape): Unit = {
      loss.losing = true
      lostPage = bench.random.nextInt(60)
      ask(shape, lostPage)
      bench.until("the lost read")(!loss.losing)
      lostAt = bench.now
    }

    def error(): Unit = bench.until("its error")(quiet)

    /** Waits until the lost read's tag is free. Returns the number of cycles since the read was
      * lost.
      */
    def back(): Long = {
      bench.until("its tag")(bench.dut.tags.free.toInt == bench.dut.p.tags)
      bench.now - lostAt
    }
    def waitFor(timeouts: Int): Unit = bench.cycles(lostAt + timeouts * timeout - bench.now)

    /** Issues one read for each tag, and checks that the lost read's tag is used last. The new read
      * with that tag asks for other data than the lost one, unless `same` is set.
      */
    def fill(shape: Shape, same: Boolean = false): Unit = {
      val before = loss.order.length
      ask(tags - 1, shape)
      ask(shape, if (same) lostPage else (lostPage + 1) % 60)
      bench.until("reads under all tags")(loss.order.length == before + tags)
      assert(loss.order.last == loss.tag, "the lost read's tag was not given out last")
      assert(!loss.order.drop(before).dropRight(1).contains(loss.tag))
    }

    /** Lets the host send the lost read's completions at random within the next `spread` cycles.
      * Returns how many there are.
      */
    def answer(spread: Int, change: RcCompletion => RcCompletion = c => c): Int = {
      val times = Seq.fill(loss.pieces.length)(bench.now + bench.random.nextInt(spread)).sorted
      for ((at, piece) <- times.zip(loss.pieces)) bench.host.send(at, change(piece))
      loss.pieces.length
    }

    /** Lets the host answer the lost read with Unsupported Request. Returns the number of
      * completions, 1.
      */
    def refuse(): Int = {
      val refusal =
        loss.pieces.head.copy(dwords = 0, payload = Nil, done = true, status = 1, code = 2)
      bench.host.send(bench.now, refusal)
      1
    }
  }

  /** Runs a test in which the host answers after 600 cycles or more, so that reads under all tags
    * are outstanding at the same time.
    */
  def late(name: String, extended: Boolean = true)(body: Late => Unit): Unit = {
    val timing = HostTiming(latency = 600L + _.nextInt(100), piece = Some(64))
    val run    = ReturnRun(Seed.value, timing, extendedTags = extended, timeoutCycles = timeout)
    ReturnBench(name, run) { bench =>
      val late = new Late(bench, if (extended) 64 else 32)
      body(late)
      bench.finish()
      assert(bench.dut.io.statistics.malformed.toLong == 0, "a read that was answered failed")
    }
  }

  for (extended <- Seq(true, false))
    test(
      s"a lost read's tag is free within three timeouts, and is given out after all others, " +
        s"extended tags $extended, seed ${Seed.value}"
    )(late("back", extended) { late =>
      for (_ <- 0 until rounds) {
        late.bench.cycles(late.bench.random.nextInt(1000))
        late.lose(whole)
        late.error()
        val took = late.back()
        assert(took > 5 * timeout / 2 && took <= 3 * timeout, s"$took cycles, not 3 x $timeout")
        // Other tags are free all the time. Each is used several times in this loop, but the lost
        // read's tag must not be used.
        val before = late.loss.order.length
        for (_ <- 0 until 40) {
          late.ask(5, Shape(0, 64))
          late.bench.until("others")(late.quiet)
        }
        assert(
          !late.loss.order.drop(before).contains(late.loss.tag),
          "the lost tag was used too early"
        )
        late.fill(whole)
      }
    })

  test(s"an answer after ten timeouts, its tag at rest, is late, seed ${Seed.value}")(
    late("rest") { late =>
      for (round <- 0 until rounds) {
        late.lose(longer)
        late.error()
        // A timeout of 0 cycles stops the clock by which reads time out, so the tag is not freed.
        late.bench.dut.io.timeoutCycles #= 0
        late.waitFor(10)
        assert(late.bench.dut.tags.free.toInt == 63)
        val (before, unexpected) = (late.late, late.unexpected)
        val pieces               = if (round % 2 == 1) late.refuse() else late.answer(300)
        late.bench.cycles(350)
        assert(late.late == before + pieces && late.unexpected == unexpected + pieces)
        assert(
          late.bench.dut.tags.free.toInt == late.bench.dut.p.tags,
          "its last completion has come"
        )
        late.bench.dut.io.timeoutCycles #= timeout
        late.bench.cycles(10)
      }
      assert(late.duplicates == 0)
    }
  )

  test(s"an answer after ten timeouts, its tag free, is unexpected, seed ${Seed.value}")(
    late("free") { late =>
      for (round <- 0 until rounds) {
        late.lose(longer)
        late.error()
        late.waitFor(10)
        val before = late.unexpected
        // In the later rounds, reads of the same shape as the lost one are outstanding.
        if (round / 2 == 1) late.ask(20, longer)
        val pieces = if (round % 2 == 1) late.refuse() else late.answer(800)
        late.bench.cycles(850)
        late.bench.until("others")(late.quiet)
        assert(late.unexpected == before + pieces)
        assert(late.late == 0 && late.duplicates == late.unexpected)
      }
    }
  )

  /** A way in which a lost read differs from the read that later gets its tag. `code` is the error
    * that the hard block may report for the late answer.
    */
  case class Difference(what: String, code: Int, lost: Shape, later: Shape = whole)
  val differences = Seq(
    Difference("more bytes", RcDescriptor.ByteCount, longer),
    Difference("fewer bytes", RcDescriptor.ByteCount, Shape(0, 224)),
    Difference("one byte less", RcDescriptor.ByteCount, Shape(0, 256, lastBe = 7)),
    Difference("another lower address", RcDescriptor.LowerAddress, Shape(64, 256)),
    Difference("an odd lower address", RcDescriptor.LowerAddress, Shape(32, 256)),
    Difference(
      "a lower address one byte on",
      RcDescriptor.LowerAddress,
      Shape(0, 256, firstBe = 14),
      Shape(0, 256, lastBe = 7)
    )
  )
  for (difference <- differences)
    test(
      s"an answer of ${difference.what} after ten timeouts does not touch the read that has its " +
        s"tag, seed ${Seed.value}"
    )(late("taken") { late =>
      for (round <- 0 until rounds) {
        late.lose(difference.lost)
        late.error()
        late.waitFor(10)
        val before = late.unexpected
        late.fill(difference.later)
        // The late answer comes either before the completions of the read that now has the tag, or
        // between them. In the later rounds the hard block also reports that the answer does not
        // fit.
        val named  = (c: RcCompletion) => c.copy(code = difference.code, done = false)
        val pieces = late.answer(Seq(300, 1200)(round % 2), if (round / 2 == 1) named else c => c)
        late.bench.cycles(1250)
        late.bench.until("its data")(late.quiet)
        assert(late.unexpected == before + pieces)
        assert(late.late == 0 && late.duplicates == late.unexpected)
      }
    })

  test(s"an answer of the same shape is taken for that of the later read, seed ${Seed.value}")(
    late("same") { late =>
      for (_ <- 0 until rounds) {
        late.lose(whole)
        late.error()
        late.waitFor(10)
        val before = late.unexpected
        // The later read asks for the same data as the lost one. With other data the bench would
        // report the mistake as an error.
        late.fill(whole, same = true)
        val pieces = late.answer(300)
        late.bench.cycles(1250)
        late.bench.until("its data")(late.quiet)
        assert(late.unexpected == before + pieces, "the later read's own answer was not dropped")
        assert(late.late == 0 && late.duplicates == late.unexpected)
      }
    }
  )
}
