// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.user

import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.vocabulary.Numbers

/** User logic that gives commands, and compares each end and all data with what the test expected
  * when it gave the command. In each cycle each of its four streams is idle with probability
  * `pauses`. `written` is the number of writes that the host has got.
  */
class CommandUser(dut: HostCommands, random: Random, written: => Int) {
  import CommandUser._
  var pauses = 0.3
  var takes  = true // The user takes data of reads and ends of commands.
  var ended  = 0

  private val commands = mutable.Queue[Command]()
  private val toWrite  = mutable.Queue[(BigInt, Boolean)]()
  private val toRead   = mutable.Queue[Seq[Option[Byte]]]()
  private val open     = Map(false -> mutable.Queue[Command](), true -> mutable.Queue[Command]())
  private var carried  = 0 // Writes that have ended without an error.
  private val packet   = mutable.ArrayBuffer[Byte]()
  private val failed   = mutable.Queue[Boolean]()
  private var shown    = Option.empty[Seq[BigInt]]
  private var silent   = 0

  def waiting: Int           = commands.size
  def inFlight: Seq[Command] = open(false).toSeq ++ open(true)
  def rests: Boolean         = inFlight.isEmpty && toRead.isEmpty && toWrite.isEmpty

  /** Gives a command. `data` is the data of a write, and what a read must give, with None where
    * anything may come.
    */
  def give(command: Command, data: Seq[Option[Byte]]): Unit = {
    commands += command
    open(command.write) += command
    val beats = data.grouped(32).toSeq
    if (command.write)
      for ((beat, n) <- beats.zipWithIndex) {
        val word = beat.zipWithIndex.map { case (byte, i) =>
          BigInt(byte.get & 0xff) << (8 * i)
        }.sum
        toWrite += ((word, n == beats.size - 1))
      }
    else if (command.error != Numbers.CommandRefused) {
      toRead += data
      failed += command.error != 0
    }
  }

  dut.io.command.valid #= false
  dut.io.c2h.valid #= false
  dut.io.h2c.ready #= false
  dut.io.done.ready #= false
  dut.clockDomain.onSamplings {
    command()
    c2h()
    h2c()
    done()
  }

  private def goes: Boolean = random.nextDouble() >= pauses

  private def command(): Unit = {
    val port = dut.io.command
    if (port.valid.toBoolean && port.ready.toBoolean) {
      commands.dequeue()
      port.valid #= false
    }
    if ((!port.valid.toBoolean || port.ready.toBoolean) && commands.nonEmpty && goes) {
      val next = commands.head
      port.valid #= true
      port.write #= next.write
      port.address #= BigInt(next.address)
      port.bytes #= next.bytes
      port.context #= next.context
    }
  }

  private def c2h(): Unit = {
    val port = dut.io.c2h
    if (port.valid.toBoolean && port.ready.toBoolean) {
      toWrite.dequeue()
      port.valid #= false
    }
    if ((!port.valid.toBoolean || port.ready.toBoolean) && toWrite.nonEmpty && goes) {
      port.valid #= true
      port.fragment.data #= toWrite.head._1
      port.last #= toWrite.head._2
      port.fragment.bytes #= random.nextInt(33)
      port.fragment.error #= random.nextBoolean()
    }
  }

  private def h2c(): Unit = {
    val port = dut.io.h2c
    if (port.valid.toBoolean && port.ready.toBoolean) {
      val word  = port.fragment.data.toBigInt
      val last  = port.last.toBoolean
      val count = port.fragment.bytes.toInt
      packet ++= (0 until (if (last && count != 0) count else 32)).map(i =>
        (word >> (8 * i)).toByte
      )
      if (last) {
        val wanted = toRead.dequeue()
        assert(packet.size == wanted.size, s"${packet.size} bytes came, and not ${wanted.size}")
        for (((got, byte), n) <- packet.zip(wanted).zipWithIndex; right <- byte)
          assert(got == right, s"byte $n of ${wanted.size} is wrong")
        assert(port.fragment.error.toBoolean == failed.dequeue(), "`error` of a packet is wrong")
        packet.clear()
      }
    }
    port.ready #= takes && goes
  }

  private def done(): Unit = {
    val port = dut.io.done
    val now = Seq(
      BigInt(if (port.write.toBoolean) 1 else 0),
      port.context.toBigInt,
      BigInt(port.error.toInt)
    )
    val valid = port.valid.toBoolean
    for (before <- shown) assert(valid && now == before, "an end that waits has changed")
    shown = if (valid && !port.ready.toBoolean) Some(now) else None
    silent = if (valid || inFlight.isEmpty || !takes) 0 else silent + 1
    assert(silent < Patience, s"no command ends, although ${inFlight.size} have begun")
    if (valid && port.ready.toBoolean) {
      val write = port.write.toBoolean
      assert(open(write).nonEmpty, "an end without a command")
      val command = open(write).dequeue()
      assert(
        now.tail == Seq(BigInt(command.context), BigInt(command.error)),
        s"end of another command or with another error than $command: $now"
      )
      ended += 1
      if (write && command.error == 0) carried += 1
      assert(carried <= written, "a write has ended, and the host has not got it")
    }
    port.ready #= takes && goes
  }
}

object CommandUser {
  val Patience = 20000 // Cycles within which some command must end.

  case class Command(write: Boolean, address: Long, bytes: Int, context: Int, error: Int)
}
