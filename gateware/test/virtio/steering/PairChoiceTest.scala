// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.steering

import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.capture.TestFrame
import lanebox.virtio.{NetBench, PairsDriver, VirtioRegisters}
import lanebox.virtio.vocabulary.VirtioParam
import lanebox.vocabulary.Seed

/** Tests that both pairs of queues of the net device carry frames: those of both transmit queues
  * leave whole, and each received frame comes to the pair of its flow, in order, or is counted.
  */
class PairChoiceTest extends NetBench {
  import PairsDriver._
  import VirtioRegisters._

  def drive(name: String, more: Int*)(body: (PairsDriver, FarSide) => Unit): Unit =
    NetBench.compiled.doSim(s"pairs_$name", Seed.value) { dut =>
      val random   = new Random(simRandom.nextLong())
      val features = all | PairsDriver.features | this.features(more: _*)
      val driver   = new PairsDriver(dut, random, features)
      body(driver, new FarSide(dut, random))
    }

  /** The driver's flows, of which each has a pair. */
  class Flows(driver: PairsDriver, far: FarSide) {
    import driver.random
    // No two of the flows that the card can know have the same place in its table.
    val flows = (0 until 8).foldLeft(Seq[Flow]()) { (found, n) =>
      found :+ Iterator
        .continually(Flow(n, Flow.Kinds(n % 6), random))
        .find(one => !found.exists(other => other.known && other.place == one.place))
        .get
    }
    val pair           = mutable.HashMap[Int, Int]()
    val sent           = mutable.ArrayBuffer[IndexedSeq[Byte]]()
    val input          = mutable.ArrayBuffer[IndexedSeq[Byte]]()
    private var number = 0
    var length         = 1200

    private def long(frame: IndexedSeq[Byte]): IndexedSeq[Byte] = {
      val (front, mark) = frame.splitAt(frame.size - 3)
      front ++ Seq.fill(random.nextInt(length))(random.nextInt().toByte) ++ mark
    }
    def next(flow: Flow, back: Boolean): IndexedSeq[Byte] = {
      number += 1
      long(flow.frame(number, back))
    }
    def send(flow: Flow, pair: Int): Unit = {
      while (driver.queues(2 * pair + 1).room < 4) work()
      val frame = next(flow, back = false)
      sent += frame
      driver.sendFrame(frame, pair = pair)
      this.pair(flow.id) = pair
    }
    def receive(flow: Flow): Unit = {
      val frame = next(flow, back = true)
      input += frame
      far.input += TestFrame(0, 0, frame.size, frame)
    }
    def work(): Unit = {
      for (pair <- 0 to 1)
        while (driver.queues(2 * pair).room >= 4 && random.nextInt(4) != 0)
          driver.offerFrame(Largest, pair = pair)
      for (n <- 0 to 3) driver.publish(n)
      driver.onInterrupts(0)
      driver.step(random.nextInt(60))
    }
    def settle(): Unit = {
      var left = 3000
      while (far.taken.size < sent.size || driver.frames.size < input.size) {
        work()
        left -= 1
        assert(
          left > 0,
          s"${far.taken.size} of ${sent.size} sent, ${driver.frames.size} of ${input.size} received"
        )
      }
    }
    private val Largest = NetBench.Largest

    /** Checks that all frames have come, those of each flow in order and at its pair. */
    def check(): Unit = {
      settle()
      def byFlow(frames: Iterable[IndexedSeq[Byte]]) = frames.toSeq.groupBy(Flow.mark(_)._1)
      assert(byFlow(far.taken) == byFlow(sent), "other frames were sent")
      val came = driver.frames.zip(driver.pairs)
      for ((id, frames) <- byFlow(input)) {
        val mine = came.filter(one => Flow.mark(one._1)._1 == id)
        assert(mine.map(_._1) == frames, s"other frames of flow $id were received")
        val expected = if (flows(id).known) pair.getOrElse(id, 0) else 0
        assert(mine.forall(_._2 == expected), s"flow $id: ${mine.map(_._2)}, not $expected")
      }
      assert(driver.read(Dropped) == 0)
      Seq(sent, input).foreach(_.clear())
      Seq(far.taken, driver.frames).foreach(_.clear())
      driver.pairs.clear()
    }
  }

  test(s"both pairs carry frames, each flow at its own pair, seed ${Seed.value}") {
    drive("both") { (driver, far) =>
      import driver.random
      driver.host.pauses = random.nextDouble() * 0.6
      driver.host.latency = 1 + random.nextInt(150)
      far.stalls = random.nextDouble() * 0.5
      driver.initialise(16)
      val flows = new Flows(driver, far)
      driver.activate(2)
      for (_ <- 0 until 12) {
        // Each flow has one pair in a round, and its received frames come behind a sent one.
        for (flow <- flows.flows) flows.send(flow, random.nextInt(2))
        flows.settle()
        for (_ <- 0 until 25) {
          val flow = flows.flows(random.nextInt(flows.flows.size))
          flows.send(flow, flows.pair(flow.id))
          if (flows.input.size - driver.frames.size < 6) flows.receive(flow)
          flows.work()
        }
        flows.check()
      }
    }
  }

  test(s"with one pair all frames come to it, seed ${Seed.value}") {
    drive("one") { (driver, far) =>
      driver.initialise(16)
      val flows = new Flows(driver, far)
      for (_ <- 0 until 4) {
        for (flow <- flows.flows) flows.send(flow, 1)
        flows.settle()
        for (flow <- flows.flows) {
          flows.receive(flow)
          flows.pair(flow.id) = 0
          flows.work()
        }
        flows.check()
        driver.activate(2)
        driver.activate(1)
      }
    }
  }

  for (merge <- Seq(false, true))
    test(s"nothing comes to a pair that is not active, merged $merge, seed ${Seed.value}") {
      drive(s"switch$merge", (if (merge) Seq(VirtioParam.NetMerge) else Seq()): _*) {
        (driver, far) =>
          import driver.random
          driver.initialise(16)
          val flows   = new Flows(driver, far)
          def shown   = driver.memory.number(driver.queues(2).used + 2, 2)
          var after   = -1L // The used index of the second pair when it had become inactive.
          var waiting = false
          var place   = 0L  // Where the answer is.
          driver.host.watch = () => {
            if (after >= 0) assert(shown == after, "a frame came to the inactive pair")
            if (waiting && driver.control.unseen) {
              waiting = false
              if (driver.memory.number(place, 1) == Ok) after = shown
            }
          }
          var moved, refused = 0
          for (round <- 0 until 40) {
            after = -1
            driver.activate(2)
            for (flow <- flows.flows) flows.send(flow, 1)
            flows.settle()
            driver.pairs.clear()
            for (_ <- 0 until 6) flows.receive(flows.flows(random.nextInt(6)))
            for (_ <- 0 until random.nextInt(8)) flows.work()
            // A frame that lacks chains of the second pair makes the command fail. It never hangs.
            driver.command(pairsSet(1), Ok)
            place = driver.control.chains.values.head.buffers.last._1
            waiting = true
            driver.publish(Control)
            driver.until("the answer")(!waiting)
            if (after >= 0) moved += 1
            else {
              assert(merge, "a command failed without a reason")
              refused += 1
              driver.expect(Refused)
            }
            flows.settle()
            if (after >= 0) driver.step(200)
            flows.sent.clear()
            flows.input.clear()
            far.taken.clear()
            driver.frames.clear()
          }
          println(s"$moved times the pair became inactive, $refused times a frame was in the way")
          assert(moved > 10 && driver.read(Dropped) == 0)
      }
    }

  test(s"a frame that lacks chains keeps its pair active, seed ${Seed.value}") {
    drive("stuck", VirtioParam.NetMerge) { (driver, far) =>
      driver.initialise(16)
      val flows = new Flows(driver, far)
      flows.length = 200
      driver.activate(2)
      flows.send(flows.flows.head, 1)
      driver.offerBytes(VirtioParam.NetHeader + 20, pair = 1) // No frame is so short.
      for (n <- 2 to 3) driver.publish(n)
      driver.until("the sent frame")(far.taken.nonEmpty)
      for (flow <- flows.flows) flows.receive(flow)
      driver.step(3000)
      for (_ <- 0 to 1) driver.activate(1, Refused)
      assert(driver.frames.isEmpty, "a frame has passed another one")
      flows.receive(flows.flows.head)
      flows.settle()
      val mine = driver.frames.zip(driver.pairs).filter(one => Flow.mark(one._1)._1 == 0)
      assert(mine.map(_._2) == Seq(1, 1), "both pairs are active")
      driver.activate(1)
      flows.receive(flows.flows.head)
      flows.settle()
      assert(driver.pairs.last == 0 && driver.read(Dropped) == 0)
    }
  }

  test(s"lost frames are counted with two pairs, seed ${Seed.value}") {
    drive("lost") { (driver, far) =>
      driver.initialise(16)
      val flows = new Flows(driver, far)
      driver.activate(2)
      for (flow <- flows.flows) flows.send(flow, flow.id % 2)
      flows.settle()
      val input = Seq.fill(150) {
        val flow  = flows.flows(driver.random.nextInt(8))
        val frame = flows.next(flow, back = true)
        TestFrame(0, 0, frame.size, frame, error = driver.random.nextInt(10) == 0)
      }
      far.input ++= input
      driver.until("the end of the frames", 60000)(far.idle)
      var quiet = 0
      while (quiet < 20) {
        val before = driver.frames.size
        flows.work()
        driver.step(200)
        quiet = if (before == driver.frames.size) quiet + 1 else 0
      }
      assert(driver.frames.size + driver.read(Dropped) == input.size && driver.frames.size > 10)
      val good = input.filterNot(_.error).map(_.data)
      assert(driver.frames.forall(good.contains(_)) && driver.pairs.toSet == Set(0, 1))
    }
  }

  test(s"a reset in the middle leaves no half frame, seed ${Seed.value}") {
    drive("reset", VirtioParam.NetMerge) { (driver, far) =>
      import driver.random
      for (_ <- 0 until 25) {
        driver.host.silent = false
        driver.host.latency = 2 + random.nextInt(200)
        driver.initialise(16)
        val flows = new Flows(driver, far)
        driver.activate(2)
        far.taken.clear()
        for (_ <- 0 until random.nextInt(30)) {
          val flow = flows.flows(random.nextInt(8))
          val pair = random.nextInt(2)
          flows.send(flow, pair)
          if (random.nextBoolean()) flows.receive(flow)
          flows.work()
        }
        if (random.nextBoolean()) {
          driver.command(pairsSet(1), Ok)
          driver.publish(Control)
          driver.step(random.nextInt(400))
        }
        driver.reset()
        driver.frames.clear()
        driver.pairs.clear()
        driver.until("the end of the far side's work", 100000)(far.idle)
        driver.step(3000)
        val byFlow = flows.sent.groupBy(Flow.mark(_)._1)
        assert(!driver.busy, "work without a driver")
        for ((id, frames) <- far.taken.groupBy(Flow.mark(_)._1))
          assert(frames.forall(byFlow(id).contains(_)), "other frames were sent")
      }
      driver.host.silent = false
      driver.initialise(16)
      far.taken.clear()
      traffic(driver, far, 30)
    }
  }
}
