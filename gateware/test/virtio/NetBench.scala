// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.capture.{FrameDriver, TestFrame}
import lanebox.virtio.vocabulary.VirtioParam
import lanebox.vocabulary.{LaneboxSim, Seed}

/** A base of the test suites of the net device: both devices of a card with small queues, the net
  * device's driver, and the far side.
  */
abstract class NetBench extends AnyFunSuite {
  def compiled                     = NetBench.compiled
  val needed                       = VirtioParam.Required | BigInt(1) << VirtioParam.AccessPlatform
  def features(bits: Int*): BigInt = bits.map(BigInt(1) << _).fold(needed)(_ | _)
  val all = features(VirtioParam.EventIndex, VirtioParam.Indirect, VirtioParam.NotificationData)

  /** The network's side of the net device: it takes the driver's frames, and gives frames to it. */
  class FarSide(dut: VirtioDevices, random: Random) {
    val taken         = mutable.Queue[IndexedSeq[Byte]]()
    val input         = mutable.Queue[TestFrame]() // Frames that are still to be input.
    var stalls        = 0.3                        // Share of the cycles in which no beat is taken.
    private val beats = mutable.ArrayBuffer[Byte]()
    private var kept  = 0
    val driver = new FrameDriver(dut.io.c2h, random)(
      if (input.isEmpty) None else Some(input.dequeue())
    )
    def idle: Boolean = input.isEmpty && driver.idle

    dut.clockDomain.onSamplings {
      val h2c = dut.io.h2c
      if (h2c.valid.toBoolean && h2c.ready.toBoolean) {
        if (beats.isEmpty) kept = h2c.head.kept.toInt
        val last  = h2c.last.toBoolean
        val bytes = if (last) (h2c.bytes.toInt + 31) % 32 + 1 else 32
        beats ++= TestFrame.bytes(h2c.data.toBigInt, bytes)
        if (last) {
          assert(beats.size == kept, s"a frame of ${beats.size} bytes says that it has $kept")
          taken += beats.toIndexedSeq
          beats.clear()
        }
      }
      h2c.ready #= random.nextDouble() >= stalls
      driver.cycle()
    }
  }

  def run(name: String, features: BigInt = all)(body: (NetDriver, FarSide) => Unit): Unit =
    compiled.doSim(name, Seed.value) { dut =>
      val random = new Random(simRandom.nextLong())
      val driver = new NetDriver(dut, random, features, 1)
      body(driver, new FarSide(dut, random))
    }

  def frame(random: Random, error: Int = 0): TestFrame =
    TestFrame.random(random, 0, NetBench.Largest, error)

  /** Lets the driver do a round of its work: it takes chains back and offers new ones. */
  def work(driver: NetDriver, send: => Option[Seq[Byte]], room: Int = NetBench.Largest): Unit = {
    import driver.{random, receive, transmit}
    while (transmit.room >= 4 && random.nextInt(4) != 0) send match {
      case Some(frame) => driver.sendFrame(frame)
      case None        => return finish(driver, room)
    }
    finish(driver, room)
  }
  private def finish(driver: NetDriver, room: Int): Unit = {
    while (driver.receive.room >= 4 && driver.random.nextInt(4) != 0) driver.offerFrame(room)
    driver.publish(1)
    driver.publish(0)
    driver.onInterrupts(0)
    driver.step(driver.random.nextInt(60))
  }

  /** Carries `count` frames in each direction, and checks that the same frames arrive. */
  def traffic(driver: NetDriver, far: FarSide, count: Int): Unit = {
    val sent        = mutable.ArrayBuffer[IndexedSeq[Byte]]()
    val input       = mutable.ArrayBuffer[IndexedSeq[Byte]]()
    val (took, had) = (far.taken.size, driver.frames.size)
    def next: Option[Seq[Byte]] = if (sent.size == count) None
    else {
      sent += frame(driver.random).data
      sent.lastOption
    }
    var idle = 0
    while (sent.size < count || far.taken.size - took < count || driver.frames.size - had < count) {
      val before = (far.taken.size, driver.frames.size)
      // The frame store must not become full: frames would be lost.
      if (input.size < count && input.size - (driver.frames.size - had) < 6) {
        val one = frame(driver.random)
        far.input += one
        input += one.data
      }
      work(driver, next)
      idle = if (before == (far.taken.size, driver.frames.size)) idle + 1 else 0
      assert(
        idle < 1000,
        s"${far.taken.size - took} sent, ${driver.frames.size - had} received of $count, no more"
      )
    }
    assert(far.taken.drop(took) == sent, "other frames were sent")
    assert(driver.frames.drop(had) == input, "other frames were received")
  }
}

object NetBench {
  val Largest = VirtioParam.net.largest
  val devices = small(VirtioDevices.all)
  def small(devices: Seq[VirtioParam]): Seq[VirtioParam] =
    devices.map(_.copy(queueSize = 16, patience = 1000))

  /** The simulation of both devices, which suites in one Java virtual machine share. */
  lazy val compiled = LaneboxSim {
    val dut = VirtioDevices(devices)
    for (control <- dut.engine.controls.flatten) {
      control.index.simPublic()
      control.io.both.simPublic()
    }
    ConsoleBench.indices(dut).foreach(_.simPublic())
    dut
  }
}
