// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.mmio

import scala.collection.mutable
import scala.util.Random
import spinal.core.sim._

/** The kinds of answers that a slow target (AXI or Wishbone) gives: good, an error, none, or one
  * that comes too late.
  */
object Answer extends Enumeration {
  val good, error, lost, late = Value
}

/** Model of a classic Wishbone slave. An answer of the kind `late` comes `lateness` cycles after
  * the request.
  *
  * With `atOnce` a write is done and answered in its first cycle, as by the card's bridge to the
  * registers.
  *
  * The model checks the byte selects of every access. A write must select all four bytes, since
  * this bus takes whole dwords. A read must select the bytes that one of the outstanding reads
  * enables.
  */
class WishboneModel(dut: MmioDut, random: Random) {
  val bytes                       = new Array[Byte](0x10000)
  var answer: Int => Answer.Value = _ => Answer.good
  var delay                       = () => 0
  var lateness                    = MmioDut.Timeout + 3
  // Returns the byte enables that the host's outstanding reads have for the dword at an address.
  var asked: Int => Set[Int]    = _ => Set()
  var accesses                  = 0
  private var left: Option[Int] = None
  private var wasActive         = false
  private val bus               = dut.io.wishbone

  def atOnce(on: Boolean): Unit = dut.io.atOnce #= on

  def step(): Unit = {
    val active = bus.CYC.toBoolean && bus.STB.toBoolean
    val done   = active && bus.WE.toBoolean && dut.io.atOnce.toBoolean
    val acked  = bus.ACK.toBoolean || bus.ERR.toBoolean || done
    if (acked) left = None
    bus.ACK #= false
    bus.ERR #= false
    bus.DAT_MISO #= BigInt(32, random)
    if (active && (done || !acked) && !wasActive) {
      accesses += 1
      checkSelect(bus.ADR.toInt * 4, bus.SEL.toInt)
    }
    if (done) store(bus.ADR.toInt * 4)
    else if (active && !acked) {
      val address = bus.ADR.toInt * 4
      val kind    = answer(address)
      if (left.isEmpty) left = Some(if (kind == Answer.late) lateness else delay())
      if (kind != Answer.lost) {
        if (left.get == 0) respond(address, kind)
        else left = left.map(_ - 1)
      }
    } else if (left.nonEmpty && !acked) {
      // The bridge has given up the access, but the model of the bus may still send its late
      // answer.
      if (left.get == 0) bus.ACK #= true else left = left.map(_ - 1)
      if (left.get == 0) left = None
    }
    wasActive = active && !acked
  }

  private def checkSelect(address: Int, select: Int): Unit = {
    val right = if (bus.WE.toBoolean) Set(15) else asked(address)
    assert(
      select != 0 && right.contains(select),
      f"0x$address%x, write ${bus.WE.toBoolean}: selects $select, one of $right was enabled"
    )
  }

  private def store(address: Int): Unit =
    for (n <- 0 until 4 if ((bus.SEL.toInt >> n) & 1) == 1)
      bytes(address + n) = (bus.DAT_MOSI.toLong >> (8 * n)).toByte

  private def respond(address: Int, kind: Answer.Value): Unit = {
    if (kind == Answer.error) bus.ERR #= true else bus.ACK #= true
    if (kind == Answer.good || kind == Answer.late) {
      if (bus.WE.toBoolean) store(address)
      else {
        // In the bus's answer the bytes that the access did not select are random.
        val word = (0 until 4).map { n =>
          val asked = ((bus.SEL.toInt >> n) & 1) == 1
          val b     = if (asked) bytes(address + n) & 255 else random.nextInt(256)
          b.toLong << (8 * n)
        }.sum
        bus.DAT_MISO #= word
      }
    }
  }

  def reset(): Unit = {
    bus.ACK #= false
    bus.ERR #= false
    bus.DAT_MISO #= 0
    atOnce(false)
  }
}

/** Model of an AXI slave that answers in any order and interleaves bursts.
  *
  * A read takes its data when the request is accepted, and a write changes memory when it is
  * answered: the earliest and the latest moment that AXI allows. In a burst that fails, any one of
  * the beats may carry the error.
  */
class AxiModel(dut: MmioDut, random: Random) {
  val bytes                       = new Array[Byte](0x40000)
  var answer: Int => Answer.Value = _ => Answer.good
  var latency                     = () => 0
  var lateness                    = 2 * MmioDut.Timeout
  var arReady, awReady, wReady    = () => true
  var bubble                      = () => false
  var mixing                      = true
  var mostReads                   = 0
  private val bus                 = dut.io.axi
  private var cycle               = 0L

  private class Burst(val id: Int, val at: Long, val rows: mutable.Queue[(Array[Byte], Boolean)])
  private class Write(val id: Int, val address: Int, val rows: Int)

  private val reads                  = mutable.ArrayBuffer[Burst]()
  private val starts                 = mutable.Queue[Write]()
  private val beats                  = mutable.Queue[(Array[Byte], Int, Boolean)]()
  private val responses              = mutable.Queue[(Int, Long, Boolean, () => Unit)]()
  private var current: Option[Burst] = None
  // For each read burst on AXI: its address, its number of beats, and its size code, which is the
  // base-2 logarithm of the bytes in a beat.
  val lengths = mutable.ArrayBuffer[(Int, Int, Int)]()

  def step(): Unit = {
    cycle += 1
    address()
    write()
    if (bus.ar.valid.toBoolean && bus.ar.ready.toBoolean) ask()
    offer()
    bus.ar.ready #= arReady()
    bus.aw.ready #= awReady()
    bus.w.ready #= wReady()
  }

  private def ask(): Unit = {
    val (from, size) = (bus.ar.addr.toInt, bus.ar.size.toInt)
    val count        = bus.ar.len.toInt + 1
    val id           = bus.ar.id.toInt
    lengths += ((from, count, size))
    assert(size == 5 || (size == 2 && count == 1), s"a burst of $count with size $size")
    assert((from & 4095) / 32 + count <= 128, "a burst crosses 4 KiB")
    assert(!reads.exists(_.id == id), s"ID $id twice")
    val kind = answer(from)
    val rows = mutable.Queue[(Array[Byte], Boolean)]()
    val bad  = random.nextInt(count)
    for (n <- 0 until count) {
      val row = (from & ~31) + 32 * n
      val data = Array.tabulate(32) { b =>
        val asked = row + b >= from && (size == 5 || row + b < (from & ~3) + 4)
        if (asked) bytes(row + b) else random.nextInt(256).toByte
      }
      rows += ((data, kind == Answer.error && (n == bad || random.nextInt(4) == 0)))
    }
    if (kind != Answer.lost)
      reads += new Burst(id, cycle + (if (kind == Answer.late) lateness else latency()), rows)
    mostReads = mostReads max reads.size
  }

  private def offer(): Unit = {
    assert(bus.r.ready.toBoolean, "the bridge does not take data on R")
    val due = reads.filter(_.at <= cycle)
    bus.r.valid #= false
    if (due.nonEmpty && !bubble()) {
      val burst = current.filter(b => !mixing && reads.contains(b)).getOrElse {
        if (mixing) due(random.nextInt(due.size)) else due.minBy(_.at)
      }
      val (data, error) = burst.rows.dequeue()
      current = Some(burst)
      bus.r.valid #= true
      bus.r.id #= burst.id
      bus.r.data #= BigInt(1, data.reverse)
      bus.r.resp #= (if (error) 2 + random.nextInt(2) else 0)
      bus.r.last #= burst.rows.isEmpty
      if (burst.rows.isEmpty) reads -= burst
    }
  }

  private def address(): Unit = if (bus.aw.valid.toBoolean && bus.aw.ready.toBoolean) {
    assert((bus.aw.addr.toInt & 4095) / 32 + bus.aw.len.toInt + 1 <= 128, "a write crosses 4 KiB")
    starts += new Write(bus.aw.id.toInt, bus.aw.addr.toInt & ~31, bus.aw.len.toInt + 1)
  }

  private def write(): Unit = {
    if (bus.w.valid.toBoolean && bus.w.ready.toBoolean) {
      val data = bus.w.data.toBigInt
      val row  = Array.tabulate(32)(n => (data >> (8 * n)).toByte)
      beats += ((row, bus.w.strb.toLong.toInt, bus.w.last.toBoolean))
    }
    if (starts.nonEmpty && beats.size >= starts.head.rows) {
      val burst = starts.dequeue()
      val rows  = (0 until burst.rows).map(_ => beats.dequeue())
      assert(rows.init.forall(!_._3) && rows.last._3, "W last is not at the end of the burst")
      val kind = answer(burst.address)
      def change(): Unit = for (((data, mask, _), n) <- rows.zipWithIndex; b <- 0 until 32)
        if (((mask >> b) & 1) == 1) bytes(burst.address + 32 * n + b) = data(b)
      if (kind != Answer.lost)
        responses += ((
          burst.id,
          cycle + (if (kind == Answer.late) lateness else latency()),
          kind == Answer.error,
          () => if (kind == Answer.good) change()
        ))
    }
    assert(bus.b.ready.toBoolean, "the bridge does not take answers on B")
    bus.b.valid #= false
    if (responses.nonEmpty && responses.head._2 <= cycle) {
      val (id, _, error, change) = responses.dequeue()
      change()
      bus.b.valid #= true
      bus.b.id #= id
      bus.b.resp #= (if (error) 2 else 0)
    }
  }

  def reset(): Unit = {
    bus.ar.ready #= false
    bus.aw.ready #= false
    bus.w.ready #= false
    bus.r.valid #= false
    bus.b.valid #= false
  }
}
