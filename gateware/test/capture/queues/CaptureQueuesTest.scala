// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.queues

import org.scalatest.funsuite.AnyFunSuite
import scala.util.Random
import spinal.core.sim._

import lanebox.capture.{CaptureQueues, CaptureSetup, Pcapng}
import lanebox.vocabulary.{LaneboxSim, Seed}

/** Every frame is recorded in the queue that rules and spread choose, lost there, or discarded by a
  * rule, and is counted once with its cause.
  */
class CaptureQueuesTest extends AnyFunSuite {
  val param         = QueuesCampaign.Param
  lazy val compiled = LaneboxSim(CaptureQueues(param))

  def run(name: String, setup: CaptureSetup)(body: CaptureQueuesBench => Unit): Unit =
    compiled.doSim(name, Seed.value) { dut =>
      val bench = new CaptureQueuesBench(dut, new Random(Seed.value), setup)
      bench.reset()
      body(bench)
    }

  val ports = IndexedSeq.tabulate(Spread.Entries)(identity(_) % 16)

  val moods = Seq(
    CaptureSetup(limits = 0.5, framePauses = 0.1),
    CaptureSetup(hostPauses = 0.6, limits = 0.02, segments = 1, keepBad = true, seals = 0.001),
    CaptureSetup(
      hostPauses = 0.3,
      limits = 0.003,
      segments = 1,
      mbufLog2 = 13,
      waits = 0,
      snap = 120
    ),
    CaptureSetup(newest = true, segmentLog2 = 14, hostPauses = 0.97),
    CaptureSetup(lossless = true, limits = 0.05, hostPauses = 0.5)
  )
  test(s"every frame is in its queue or counted, in all moods, seed ${Seed.value}") {
    compiled.doSim("moods", Seed.value) { dut =>
      var lost, several = 0
      for (round <- 0 until 2 * moods.size) {
        val random = new Random(Seed.value + round)
        val setup  = moods(round % moods.size)
        val bench  = new CaptureQueuesBench(dut, random, setup)
        bench.rules = Seq.fill(random.nextInt(17))(RuleModel.random(random))
        bench.spread = IndexedSeq.fill(Spread.Entries)(random.nextInt(16))
        bench.byPort = round % 3 == 2
        bench.reset(first = round == 0)
        bench.begin()
        bench.offer(if (setup.newest) 1200 else 400, bad = 5)
        if (round % 2 == 0) bench.drain(60000) else bench.cycles(500 + random.nextInt(1000))
        // A host that takes little would need long for all data that is staged, so it pauses less
        // now.
        bench.hosts.head.pauses = setup.hostPauses min 0.5
        bench.stop()
        val delivered = bench.check()
        // The first frame of a queue always has room. Random rules and spreads may leave a queue
        // without frames.
        val good = bench.seen.map(_.count(setup.keepBad || !_.error))
        for (queue <- good.indices if good(queue) > 0)
          assert(delivered(queue).nonEmpty, s"all frames of queue $queue are lost")
        if (good.count(_ > 0) > 1) several += 1
        lost += good.sum - delivered.map(_.size).sum
        // A stopped block takes and drops the frames that it had not taken before its stop.
        while (bench.source.nonEmpty || !bench.driver.idle) bench.cycle()
      }
      assert(lost > 50, s"$lost frames lost")
      assert(several > moods.size, s"only $several rounds with frames in several queues")
    }
  }

  test(s"the loss identity holds in 10^4 random steps, seed ${Seed.value}") {
    val found = QueuesCampaign.campaign(10000, compiled)
    info(found.map { case (what, number) => s"$number $what" }.mkString(", "))
    // The campaign proves something only if each fate is frequent in it.
    val lost  = found("lost for the ring") + found("lost for the staging memory")
    val fates = Seq(found("delivered"), found("discarded by a rule"), lost)
    assert(fates.min > 20, s"$fates delivered, discarded, lost")
  }

  test("a queue whose host has stopped costs the others nothing") {
    run("stopped", CaptureSetup(limits = 1, segmentLog2 = 15, framePauses = 0.3)) { bench =>
      bench.spread = ports
      bench.byPort = true
      bench.begin()
      bench.stopped += 2
      bench.offerSize(4000, 120)
      bench.drain(40000)
      bench.stop()
      val delivered = bench.check().map(_.size)
      assert(delivered(2) < 900, s"$delivered: queue 2 has no room for more")
      for (queue <- Seq(0, 1, 3)) assert(delivered(queue) == 1000, s"$delivered")
    }
  }

  test("queues share a saturated host within 2 percent") {
    val setup = CaptureSetup(limits = 1, segmentLog2 = 15, hostPauses = 0.7, mbufLog2 = 14)
    run("fair", setup) { bench =>
      bench.spread = ports
      bench.byPort = true
      bench.begin()
      bench.offerSize(2800, 1500)
      bench.cycles(5000)
      val before = bench.hosts.map(_.beats)
      bench.cycles(120000)
      assert(bench.source.nonEmpty, "the frames do not saturate the host")
      val beats = bench.hosts.zip(before).map { case (host, earlier) => host.beats - earlier }
      info(beats.mkString(", ") + " beats")
      assert(beats.max <= 1.02 * beats.min, s"$beats")
    }
  }

  for ((size, beats) <- Seq(60 -> 3, 65 -> 4, 1514 -> 49))
    test(s"frames of ${size + 4} B on the line take $beats cycles each, also from queue to queue") {
      val setup = CaptureSetup(limits = 1, mbufLog2 = 15, segmentLog2 = 19)
      run(s"rate$size", setup) { bench =>
        bench.spread = ports
        bench.byPort = true
        bench.begin()
        bench.cycles(300)
        val count = 6000 / beats
        bench.offerSize(count, size)
        val begin = bench.hosts.head.cycles
        bench.drain(8000)
        val cycles = (bench.hosts.head.cycles - begin).toDouble / count
        bench.stop()
        assert(bench.check().map(_.size).sum == count)
        info(f"$cycles%.3f cycles")
        assert(cycles < beats * 1.04)
      }
    }

  test("a queue with little traffic is not held up by queues that saturate the host") {
    val setup =
      CaptureSetup(limits = 1, segmentLog2 = 15, hostPauses = 0.7, mbufLog2 = 14, waits = 0)
    run("little", setup) { bench =>
      bench.spread = ports
      bench.byPort = true
      bench.begin()
      bench.offerSize(1000, 1500)
      bench.source.mapInPlace(frame => frame.copy(port = frame.port % 3))
      bench.cycles(20000)
      val before = bench.hosts(3).position
      bench.offerSize(4, 100)
      val last = bench.source.removeLast()
      bench.source.takeInPlace(bench.source.size - 3)
      bench.source.prepend(last)
      bench.cycles(6000)
      assert(bench.hosts(3).position > before, "the queue's frame is not in its ring")
      assert(bench.source.nonEmpty, "the frames do not saturate the host")
    }
  }

  test("the line of records that did not wait comes in two rounds, before newer records") {
    val setup =
      CaptureSetup(limits = 1, segmentLog2 = 15, hostPauses = 0.7, mbufLog2 = 14, waits = 0)
    run("newer", setup) { bench =>
      bench.spread = ports
      bench.byPort = true
      bench.begin()
      bench.offerSize(1400, 1500)
      // Three queues saturate the host. One frame in twenty is a short one of queue 3, so this
      // queue has new records whenever it has its turn, and sometimes a full cell behind the
      // others'.
      val frames = bench.source.toSeq.zipWithIndex.map { case (frame, i) =>
        if (i % 20 > 0) frame.copy(port = frame.port % 3)
        else frame.copy(port = 3, original = 100, data = frame.data.take(100))
      }
      bench.source.clear()
      bench.source ++= frames
      bench.cycles(10000)
      val host = bench.hosts(3)
      // The cycle in which a part of a cell was written that no status line has reported yet.
      var sent: Option[Long] = None
      var lines              = host.lines
      var partial            = host.partial
      val before             = partial
      var most               = 0L
      while (bench.source.nonEmpty) {
        bench.cycle()
        if (host.lines > lines) sent = None
        if (host.partial > partial && sent.isEmpty) sent = Some(host.cycles)
        lines = host.lines
        partial = host.partial
        for (since <- sent) most = most max host.cycles - since
      }
      info(s"at most $most cycles from records to line")
      // A round of four queues has at most eight cells of 128 beats, at 3 beats in 10 cycles.
      assert(most < 2 * (8 * 128 * 10 / 3), s"$most cycles from records to line")
      assert(partial - before > 4, s"only ${partial - before} parts of cells were written")
    }
  }

  test("each queue may use its part of the staging memory, and no more") {
    val setup =
      CaptureSetup(limits = 1, mbufLog2 = 16, segmentLog2 = 16, segments = 1, hostPauses = 1)
    run("parts", setup) { bench =>
      bench.spread = ports
      bench.byPort = true
      bench.begin()
      bench.offerSize(4 * 60, 1000)
      bench.drain(20000)
      bench.cycles(200)
      // Eight cells of 4 KiB hold 31 records of 1032 bytes.
      val (own, _) = bench.accounts()
      assert(own.map(_.values.map(_.delivered._1).sum) == Seq.fill(4)(31))
      assert(own.map(_.values.map(_.lostNoCell._1).sum) == Seq.fill(4)(29))
      bench.hosts.head.pauses = 0
      bench.stop()
      bench.check()
    }
  }

  /** Runs `body` with 64 cells for four queues, whose hosts take nothing at first. Frames of the
    * ports 0 to 3 go to the queues of these numbers.
    */
  def shared(name: String)(body: (CaptureQueues, CaptureQueuesBench) => Unit): Unit =
    sharing.doSim(name, Seed.value) { dut =>
      val setup =
        CaptureSetup(limits = 1, mbufLog2 = 18, segmentLog2 = 18, segments = 1, hostPauses = 1)
      val bench = new CaptureQueuesBench(dut, new Random(Seed.value), setup)
      bench.spread = ports
      bench.byPort = true
      bench.reset()
      body(dut, bench)
    }
  lazy val sharing = LaneboxSim(CaptureQueues(param.copy(cells = 64)))

  /** Offers `count` frames of 1000 bytes for each queue of `queues`, and lets the card decide on
    * them. Returns the numbers of records of all queues since the start.
    */
  def fill(bench: CaptureQueuesBench, count: Int, queues: Seq[Int]): Seq[Int] = {
    bench.offerSize(4 * count, 1000)
    bench.source.filterInPlace(frame => queues.contains(frame.port))
    bench.drain(40000)
    bench.cycles(200)
    bench.accounts()._1.map(_.values.map(_.delivered._1.toInt).sum)
  }

  /** The records of 1032 bytes that fit into `cells` cells of 4 KiB. If the queue had `before` records
    * and lost frames then, the last of these records ends in the first cell, and the next record has
    * 16 bytes more, for the number of lost frames.
    */
  def fit(cells: Int, before: Int = 0): Int = {
    val used = 1032 * before % 4096 + (if (before > 0) 16 else 0)
    (4096 * cells - 1 - used) / 1032
  }

  test("each queue may use its quota, to the cell, also one that changes while it runs") {
    shared("quotas") { (_, bench) =>
      val quotas = Seq(16, 8, 13, 24)
      bench.begin()
      for ((cells, queue) <- quotas.zipWithIndex) bench.quota(queue, cells)
      // These have no effect: a queue could not hold a long frame, or the memory has fewer cells.
      for (queue <- 0 until 4; cells <- Seq(0, 7, 65)) bench.quota(queue, cells)
      bench.cycles(40)
      val first = fill(bench, 120, 0 until 4)
      assert(first == quotas.map(fit(_)))
      // Three cells are free. But queues 0 and 3 get none until they have fewer in use than their
      // smaller quotas allow.
      val later = Seq(10, 20, 13, 8)
      for (queue <- Seq(0, 3)) bench.quota(queue, later(queue))
      bench.cycles(20)
      assert(fill(bench, 40, Seq(0, 3)) == first)
      bench.quota(1, later(1))
      bench.hosts.head.pauses = 0
      bench.cycles(12000)
      bench.hosts.head.pauses = 1
      // With this record the writer waits for the host before it has read any cell of the others.
      fill(bench, 1, Seq(2))
      val second = fill(bench, 100, Seq(0, 1, 3))
      for (queue <- Seq(0, 1, 3))
        assert(second(queue) - first(queue) == fit(later(queue), first(queue)), s"queue $queue")
      bench.hosts.head.pauses = 0
      bench.stop(80000)
      bench.check()
    }
  }

  test("queues whose quotas are more than the memory share it, and each keeps its open cell") {
    shared("sum") { (_, bench) =>
      bench.begin()
      for (queue <- 0 until 4) bench.quota(queue, 64)
      bench.cycles(20)
      assert(fill(bench, 300, Seq(0)) == Seq(fit(64 - 3), 0, 0, 0))
      assert(fill(bench, 30, Seq(1, 2)).take(3) == Seq(fit(64 - 3), fit(1), fit(1)))
      bench.hosts.head.pauses = 0
      bench.stop(80000)
      bench.check()
    }
  }

  test("a reset gives each queue its first quota again") {
    shared("reset") { (dut, bench) =>
      bench.begin()
      for (queue <- 0 until 4) bench.quota(queue, 8 + 16 * (queue % 2))
      bench.cycles(20)
      bench.run = false
      bench.cycles(10)
      dut.clockDomain.assertReset()
      dut.clockDomain.waitRisingEdge(3)
      dut.clockDomain.deassertReset()
      bench.reset(first = false)
      bench.begin()
      assert(fill(bench, 80, 0 until 4) == Seq.fill(4)(fit(16)))
    }
  }

  test("a seal that is asked for closes the MBUF of its queue only, and tells why") {
    run("seal", CaptureSetup(limits = 0.5)) { bench =>
      bench.spread = ports
      bench.byPort = true
      bench.begin()
      bench.offerSize(8, 100)
      bench.drain(1000)
      bench.cycles(400)
      bench.seal(queue = 1)
      // A frame of another queue waits for nothing while queue 1 is closed.
      bench.cycles(20)
      bench.offerSize(1, 100)
      bench.cycles(1000)
      assert(bench.hosts.map(_.position == 4096) == Seq(false, true, false, false))
      bench.stop()
      bench.check()
      val seals = bench.hosts.map { host =>
        Pcapng.read(host.stream.toArray).collect { case seal: Pcapng.Sealed => seal }
      }
      assert(seals.map(_.map(_.reason)) == Seq(Seq(2), Seq(1), Seq(2), Seq(2)))
      assert(seals.map(_.map(_.queue)) == Seq(Seq(0), Seq(1), Seq(2), Seq(3)))
    }
  }

  test("each queue counts the losses of a port for itself") {
    run("drops", CaptureSetup(limits = 1, segments = 1)) { bench =>
      // Of one port, short frames go to queue 1 and long ones to queue 0.
      bench.rules = Seq(RuleModel(lengths = (0, 99), queue = Some(1)))
      bench.begin()
      bench.stopped ++= Seq(0, 1)
      def offer(count: Int): Unit = {
        for (_ <- 0 until count) for (size <- Seq(60, 120, 120)) bench.offerSize(1, size)
        bench.source.mapInPlace(_.copy(port = 2))
        bench.drain(10000)
      }
      offer(200)
      bench.stopped.clear()
      bench.cycles(1000)
      offer(2)
      bench.stop()
      val drops = bench.check().take(2).map(_.map(_.drops).filter(_ > 0))
      assert(drops.map(_.size) == Seq(1, 1) && drops.flatten.forall(_ > 50), s"$drops")
    }
  }

  test(s"nothing is written behind a reset in the middle of a recording, seed ${Seed.value}") {
    // Memories keep their content over a reset, and with 8 queues some turns pass until all of them
    // are cleared.
    val eight = LaneboxSim(CaptureQueues(param.copy(cells = 64, queues = 8)))
    eight.doSim("reset", Seed.value) { dut =>
      for (round <- 0 until 20) {
        val random = new Random(Seed.value + round)
        val setup  = CaptureSetup(newest = true, waits = 0, hostPauses = 0.7)
        val bench  = new CaptureQueuesBench(dut, random, setup)
        bench.spread = ports
        bench.byPort = true
        bench.reset(first = round == 0)
        bench.begin()
        bench.offerSize(400, 300)
        bench.cycles(1000 + random.nextInt(1000))
        assert(bench.hosts.exists(_.requests > 0), "nothing was recorded")
        bench.reset(first = false)
        dut.clockDomain.assertReset()
        dut.clockDomain.waitRisingEdge(3)
        dut.clockDomain.deassertReset()
        dut.io.request.ready #= true
        for (_ <- 0 until 400) {
          dut.clockDomain.waitRisingEdge()
          assert(!dut.io.request.valid.toBoolean, s"round $round: a request behind the reset")
        }
      }
    }
  }

  test("a queue ignores a limit that is below its own") {
    run("smaller", CaptureSetup(limits = 0)) { bench =>
      bench.spread = ports
      bench.byPort = true
      bench.begin()
      for (queue <- 0 until 4) bench.stale(queue)
      bench.cycles(20)
      bench.offerSize(40, 100)
      bench.drain(1000)
      bench.stop()
      assert(bench.check().map(_.size) == Seq.fill(4)(10))
    }
  }

  test("without sorting all frames go to queue 0, whatever the rules say") {
    run("unsorted", CaptureSetup(limits = 0.5)) { bench =>
      bench.rules = Seq(RuleModel(discard = true))
      bench.spread = ports
      bench.sorts = false
      bench.begin()
      bench.offer(200)
      bench.drain(10000)
      bench.stop()
      assert(bench.check().map(_.size) == Seq(200, 0, 0, 0))
    }
  }

  test("a queue without a ring loses its frames, and writes nowhere") {
    run("ringless", CaptureSetup(newest = true)) { bench =>
      bench.spread = ports
      bench.byPort = true
      bench.begin(placed = 2)
      bench.offerSize(400, 100)
      bench.drain(10000)
      bench.stop()
      val (own, _) = bench.accounts()
      assert(own.map(_.values.map(_.delivered._1).sum) == Seq(100, 100, 0, 0))
      assert(own.map(_.values.map(_.lostRing._1).sum) == Seq(0, 0, 100, 100))
    }
  }

  test("a queue calls its host for its own position only") {
    run("wake", CaptureSetup(limits = 0.5)) { bench =>
      bench.spread = ports
      bench.byPort = true
      bench.begin()
      bench.wake(queue = 1, position = 0)
      def offer(port: Int): Unit = {
        bench.offerSize(2, 100)
        bench.source.mapInPlace(_.copy(port = port))
        bench.cycles(400)
      }
      offer(0)
      offer(2)
      assert(bench.calls == 0 && bench.hosts(0).position > 0 && bench.hosts(1).position == 0)
      offer(1)
      assert(bench.calls == 1 && bench.hosts(1).position > 0)
    }
  }
}
