// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.user

import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.vocabulary.ReadError

/** Model of the endpoint's port and of the host's memory behind it.
  *
  * CommandHost checks each request against the rules for clients of the endpoint. A write reaches
  * the memory when its last beat is taken. A read gets what the memory has when its first beat
  * comes, in order and some cycles later. `fails` gives the error of each dword. A beat with such a
  * dword is zero and carries the error. The other beats of the read are not affected.
  */
class CommandHost(dut: HostCommands, random: Random, base: Long, size: Int) {
  val memory  = Array.fill(size)(random.nextInt().toByte)
  var pauses  = 0.3 // Share of the cycles in which no request is taken, and in which no data comes.
  var latency = 60  // Most cycles from a read to its data.
  var fails: Long => Int = _ => 0 // `fails(address)` is the error code of a read of that dword.
  var reads, writes      = 0

  private case class Read(address: Long, dwords: Int, context: BigInt, due: Long)
  private val asked   = mutable.Queue[Read]()
  private val beats   = mutable.Queue[(BigInt, Boolean, Read, Int)]()
  private val written = mutable.ArrayBuffer[Byte]()
  private var fixed   = Seq[BigInt]()
  private var offered = Option.empty[Seq[BigInt]]
  private var now     = 0L

  dut.io.request.ready #= false
  dut.io.data.valid #= false
  dut.clockDomain.onSamplings {
    now += 1
    request()
    data()
  }

  private def head: Seq[BigInt] = {
    val request = dut.io.request
    Seq(
      BigInt(if (request.write.toBoolean) 1 else 0),
      request.address.toBigInt,
      BigInt(request.dwords.toInt),
      BigInt(request.firstBe.toInt),
      BigInt(request.lastBe.toInt),
      request.context.toBigInt
    )
  }

  private def request(): Unit = {
    val request = dut.io.request
    val valid   = request.valid.toBoolean
    val beat    = if (valid) Some(head :+ request.data.toBigInt) else None
    for (before <- offered) assert(beat.contains(before), "a request that waits has changed")
    val taken = valid && request.ready.toBoolean
    offered = if (taken) None else beat
    if (taken) take()
    request.ready #= random.nextDouble() >= pauses
  }

  private def take(): Unit = {
    val request        = dut.io.request
    val address        = request.address.toBigInt.toLong
    val dwords         = request.dwords.toInt
    val (first, after) = (request.firstBe.toInt, request.lastBe.toInt)
    assert(address % 4 == 0 && dwords >= 1 && dwords <= 1024, f"$dwords dwords at $address%x")
    assert(first != 0 && (after == 0) == (dwords == 1), f"byte enables $first%x $after%x")
    if (written.isEmpty) fixed = head
    assert(head == fixed, "a field changed inside a request")
    if (!request.write.toBoolean) {
      assert(request.last.toBoolean, "a read of more than one beat")
      reads += 1
      asked += Read(address, dwords, request.context.toBigInt, now + 2 + random.nextInt(latency))
    } else {
      val word = request.data.toBigInt
      written ++= (0 until 32).map(i => (word >> (8 * i)).toByte)
      val whole = written.size >= 4 * dwords
      assert(request.last.toBoolean == whole, s"last with ${written.size} bytes of $dwords dwords")
      if (whole) {
        writes += 1
        for (i <- 0 until 4 * dwords) {
          val enables = if (i < 4) first else if (i / 4 == dwords - 1) after else 15
          val at      = (address - base + i).toInt
          if ((enables >> (i % 4) & 1) == 1 && at >= 0 && at < size) memory(at) = written(i)
        }
        written.clear()
      }
    }
  }

  private def data(): Unit = {
    val data = dut.io.data
    if (data.valid.toBoolean && data.ready.toBoolean) beats.dequeue()
    if (beats.isEmpty && asked.headOption.exists(_.due <= now)) answer(asked.dequeue())
    data.valid #= beats.nonEmpty && random.nextDouble() >= pauses
    for ((word, last, read, error) <- beats.headOption) {
      data.fragment.data #= word
      data.last #= last
      data.fragment.context #= read.context
      data.fragment.dwords #= read.dwords
      data.fragment.error #= ReadError.elements(error)
    }
  }

  private def dword(address: Long): BigInt =
    (0 until 4).map { i =>
      val at   = (address - base + i).toInt
      val byte = if (at >= 0 && at < size) memory(at) else 0.toByte
      BigInt(byte & 0xff) << (8 * i)
    }.sum

  private def answer(read: Read): Unit = {
    val groups = (0 until read.dwords).map(i => read.address + 4 * i).grouped(8).toSeq
    for ((group, n) <- groups.zipWithIndex) {
      val error = group.map(fails).find(_ != 0).getOrElse(0)
      val word =
        if (error != 0) BigInt(0)
        else group.zipWithIndex.map { case (at, i) => dword(at) << (32 * i) }.sum
      beats += ((word, n == groups.size - 1, read, error))
    }
  }
}
