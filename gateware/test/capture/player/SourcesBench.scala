// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.player

import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.capture.{FrameDriver, TestFrame}

/** A frame of a model of a source: the time at which it began, the first cycle in which `begun`
  * shows it, and the first one in which it is whole.
  */
case class Begun(frame: TestFrame, time: Long, shown: Int, whole: Int)

/** Drives the inputs of FrameSources with models of sources, and takes the frames that come out.
  *
  * It checks that each frame comes whole and right, and those of a source in order. `came` has all
  * frames in the order in which they came.
  */
class SourcesBench(dut: FrameSources, r: Random) {
  var cycle = 0
  // Device time of the present cycle. After 2500 cycles of 4 ns its lower 62 bits are 0, and bit 62
  // is 1. So a comparison of too few bits finds the wrong order.
  var clock            = (1L << 62) - 10000
  private var earlier  = clock
  var step: () => Long = () => 4
  var held             = 0.0                        // The chance in a cycle that no beat is taken.
  val came             = mutable.ArrayBuffer[Begun]()
  val starts, ends     = mutable.ArrayBuffer[Int]() // The cycles of these frames.
  private val data     = mutable.ArrayBuffer[Byte]()
  private var numbers  = 0
  val sources: Seq[SourceModel] = dut.io.inputs.indices.map(new SourceModel(_))

  /** The model of a source. With `stored` a frame begins whether or not the one before has left, as
    * in SlotFrames. Otherwise it begins when the one before has left, as in Generator.
    */
  class SourceModel(i: Int) {
    var stored            = false
    var begins            = 0.0     // The chance in a cycle that a frame begins.
    var largest           = 100
    var lasts: () => Int  = () => 0 // Cycles until a frame that has begun is whole.
    var recorded          = false   // Frames have other times in their heads than in `begun`.
    val waiting, expected = mutable.Queue[Begun]()
    private var present   = Option.empty[Begun]
    private val driver    = new FrameDriver(dut.io.inputs(i), r)(next())

    def begin(): Unit = {
      val (time, shown) = if (stored) (clock, cycle + 1 + r.nextInt(2)) else (earlier, cycle)
      val frame         = TestFrame.random(r, numbers, largest).copy(port = i, flags = 0)
      val head          = if (recorded) r.nextLong() & Long.MaxValue else time
      numbers += 1
      waiting += Begun(frame.copy(time = head), time, shown, shown + lasts())
    }

    /** Take back the first frame, which is not whole: `begun` shows it no longer. */
    def giveUp(): Unit = {
      assert(waiting.dequeue().whole > cycle)
      numbers -= 1
    }

    private def next(): Option[TestFrame] = {
      if (!stored && waiting.isEmpty && r.nextDouble() < begins) begin()
      present = waiting.headOption.filter(_.whole <= cycle)
      present.foreach { each =>
        waiting.dequeue()
        expected += each
      }
      present.map(_.frame)
    }

    def drive(): Unit = {
      driver.cycle()
      val shown = if (driver.idle) waiting.headOption.filter(_.shown <= cycle) else present
      dut.io.begun(i).valid #= shown.nonEmpty
      dut.io.begun(i).payload #= shown.map(_.time).getOrElse(r.nextLong() & Long.MaxValue)
      if (stored && waiting.size < 8 && r.nextDouble() < begins) begin()
    }
    def idle: Boolean = driver.idle && waiting.isEmpty
  }

  private val output = dut.io.output
  output.ready #= false
  for (input <- dut.io.inputs) input.valid #= false
  for (begun <- dut.io.begun) begun.valid #= false
  dut.clockDomain.forkStimulus(10)
  dut.clockDomain.waitSampling(5)

  def cycles(count: Int): Unit = for (_ <- 0 until count) {
    dut.clockDomain.waitSampling()
    if (output.valid.toBoolean && output.ready.toBoolean) take()
    cycle += 1
    earlier = clock
    clock += step()
    sources.foreach(_.drive())
    output.ready #= r.nextDouble() >= held
  }

  private def take(): Unit = {
    if (data.isEmpty) {
      val due = sources(output.head.port.toInt).expected
      assert(due.nonEmpty, "a frame that is not whole, or of another source")
      came += due.dequeue()
      starts += cycle
      val frame = came.last.frame
      val head  = output.head
      assert(head.time.toBigInt == frame.time && head.kept.toInt == frame.data.size)
    }
    val frame = came.last.frame
    data ++= TestFrame.bytes(output.data.toBigInt)
    assert(output.last.toBoolean == data.size >= frame.data.size)
    if (output.last.toBoolean) {
      assert(data.take(frame.data.size) == frame.data)
      data.clear()
      ends += cycle
    }
  }

  /** Begin no more frames, and let all that have begun come out. */
  def rest(): Unit = {
    sources.foreach(_.begins = 0)
    held = 0
    var left = 20000
    while (sources.exists(!_.idle) && left > 0) {
      cycles(1)
      left -= 1
    }
    cycles(10)
    assert(left > 0 && data.isEmpty && sources.forall(_.expected.isEmpty), "a frame is missing")
    assert(came.size == numbers && ends.size == numbers)
  }

  /** Cycles without a beat between a frame and the one before, for all frames but the first. */
  def gaps: Seq[Int] = starts.tail.zip(ends).map { case (start, end) => start - end - 1 }.toSeq

  /** The frames that came after one with a later time. */
  def backwards: Seq[Begun] =
    came.zip(came.tail).collect { case (first, next) if next.time < first.time => next }.toSeq
}
