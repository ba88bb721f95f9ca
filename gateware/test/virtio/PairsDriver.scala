// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import scala.collection.mutable
import scala.util.Random

import lanebox.virtio.vocabulary.VirtioParam

/** A driver of a virtio net device that uses the control queue, and both pairs of queues if it has
  * the feature MQ.
  */
class PairsDriver(
    dut: VirtioDevices,
    random: Random,
    features: BigInt,
    beside: Option[ConsoleDriver] = None
) extends NetDriver(dut, random, features, 1, beside) {
  import PairsDriver._

  /** The number of the control queue. */
  val last = if (features.testBit(VirtioParam.NetPairs)) Control else 2

  override def indices             = super.indices ++ dut.engine.controls.flatten.map(_.index)
  override def kinds: Seq[Boolean] = Seq(true, false, true, false).take(last) :+ false
  def control: DriverQueue         = queues(last)
  // The answers that are expected, by the address of the byte, in the order of the commands.
  private val expected = mutable.Queue[(Long, Int)]()
  var answers          = 0 // Commands that were answered, each as expected.

  /** Adds a command of these bytes, in up to `parts` buffers, with an answer of `room` bytes. */
  def command(bytes: Seq[Int], answer: Int, parts: Int = 4, room: Int = 1): Unit = {
    val places =
      buffers(1 + random.nextInt(parts min bytes.size min (control.room - 1)), bytes.size)
    var at = 0
    for ((address, length) <- places) {
      memory.put(address, bytes.slice(at, at + length).map(_.toByte))
      at += length
    }
    val place = (memory.make(room, 1), room)
    memory.put(place._1, Seq.fill(room)(Untouched))
    control.add(places :+ place, wantsTable, places.size)
    expected += ((place._1, answer))
  }

  /** Looks for commands that were used. Each must have its answer, and nothing else written. */
  def takeAnswers(): Unit =
    for ((chain, bytes) <- control.takeAll()) {
      val (at, answer)  = expected.dequeue()
      val (place, room) = chain.buffers.last
      assert(place == at, "commands are not used in order")
      assert(bytes == 1, s"$bytes bytes in the used element of a command")
      assert(memory.get(at, 1).head == answer, s"the answer ${memory.get(at, 1).head}, not $answer")
      assert(memory.get(at, room).tail.forall(_ == Untouched), "more than the answer was written")
      answers += 1
    }
  override def collect(): Unit = {
    takeAnswers()
    super.collect()
  }
  override def reset(): Unit = {
    super.reset()
    expected.clear()
  }

  /** Sends a command, and waits for its answer. The driver polls, as Linux does. */
  def ask(bytes: Seq[Int], answer: Int): Unit = {
    val before = answers
    command(bytes, answer)
    publish(last)
    until("the answer of a command", 40000) {
      takeAnswers()
      answers > before
    }
  }

  /** Sets the answer that is expected of the oldest command. */
  def expect(answer: Int): Unit = expected(0) = (expected.head._1, answer)

  /** Makes the control queue anew. Commands without an answer are forgotten. */
  def renewControl(): Unit = {
    renew(last)
    forgetCommands()
  }
  def forgetCommands(): Unit                       = expected.clear()
  def activate(pairs: Int, answer: Int = Ok): Unit = ask(pairsSet(pairs), answer)
}

object PairsDriver {
  val Control         = 4 // The number of the control queue behind two pairs.
  val Ok              = 0
  val Refused         = 1
  val Untouched: Byte = 0x55
  val features        = VirtioParam.TwoPairs

  /** The bytes of the command MQ_VQ_PAIRS_SET. */
  def pairsSet(pairs: Int): Seq[Int] = Seq(4, 0, pairs & 0xff, pairs >> 8)
}
