// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture

import java.nio.{ByteBuffer, ByteOrder}
import scala.collection.mutable
import scala.util.Random
import spinal.core.sim._
import spinal.lib._

import lanebox.vocabulary.Request

/** Model of the host's memory behind the capture block's master port: the ring's segments and the
  * status line.
  *
  * The model checks each request against the rules of the endpoint's clients, and allows writes to
  * the ring and the status line only. Bytes of the ring below `position` must never change again.
  * `stream` keeps them: all bytes of the recording, also when the ring has wrapped.
  *
  * Several queues that share the port have a model each. `owns` tells which addresses of requests
  * are a model's own, and its bench calls `sample` of all models before `drive` of one.
  */
class RingHost(
    port: Stream[Fragment[Request]],
    random: Random,
    ring: RingHost.Ring,
    owns: BigInt => Boolean = _ => true
) {
  import ring._
  var pauses                  = 0.0
  val memory                  = Array.fill(segments.size)(Array.fill(segmentBytes)(0xa5.toByte))
  val stream                  = mutable.ArrayBuffer[Byte]()
  var position, records, lost = 0L
  var time                    = 0L
  var lines                   = 0
  var requests, partial       = 0
  var beats                   = 0L
  // The cycle in which the card's last status line was written.
  var lastLineBeat = 0L
  // Position in the recording, in bytes, that the card's writes must not pass.
  var limit                      = Long.MaxValue
  var cycles                     = 0L
  private val open               = mutable.ArrayBuffer[Byte]()
  private var fixed: Seq[BigInt] = Nil
  val size                       = segments.size.toLong * segmentBytes

  def cycle(): Unit = {
    sample()
    drive()
  }
  def sample(): Unit = {
    cycles += 1
    if (port.valid.toBoolean && port.ready.toBoolean && owns(port.address.toBigInt)) take()
  }
  def drive(): Unit = port.ready #= random.nextDouble() >= pauses

  private def take(): Unit = {
    beats += 1
    val address = port.address.toBigInt
    val dwords  = port.dwords.toInt
    val now     = Seq(address, BigInt(dwords), BigInt(port.attributes.toInt))
    if (open.isEmpty) fixed = now
    assert(now == fixed, "a field changed inside a request")
    assert(port.write.toBoolean && port.firstBe.toInt == 15 && port.lastBe.toInt == 15)
    open ++= TestFrame.bytes(port.data.toBigInt)
    assert(port.last.toBoolean == (open.size >= 4 * dwords), s"last with ${open.size} bytes")
    if (port.last.toBoolean) {
      write(address, open.take(4 * dwords).toArray, port.attributes.toInt)
      open.clear()
    }
  }

  private def write(address: BigInt, data: Array[Byte], attributes: Int): Unit =
    if (address == status) {
      assert(attributes == 0, "a status line with attributes")
      line(data)
    } else {
      requests += 1
      assert(address  % 64 == 0, "a write that does not begin with a line")
      assert((address % 4096).toInt + data.length <= 4096, "a write over 4 KiB")
      if ((address.toInt & 4095) + data.length < 4096) partial += 1
      val segment = segments.indexWhere(base => address >= base && address < base + segmentBytes)
      assert(segment >= 0, f"a write to $address%x")
      val offset = (address - segments(segment)).toInt
      data.copyToArray(memory(segment), offset)
      // `begin` is the write's position in the recording, in bytes. The ring wraps, so an address
      // stands for many positions. The write's is the first one at which the write does not end
      // inside the bytes that an earlier status line reported. It may end where they end only if it
      // is shorter than a line: a longer write is one of the next round.
      var begin = segment.toLong * segmentBytes + offset
      def end   = begin + data.length
      while (end < stream.size || end == stream.size && data.length >= 64) begin += size
      assert(begin + data.length <= limit, s"a write to $begin, and the limit is $limit")
      // Bytes that a status line has reported may be written again only with the same values.
      if (begin < stream.size) {
        assert(stream.size - begin < 64, s"$begin to $end is written again below ${stream.size}")
        val known = stream.drop(begin.toInt)
        assert(data.take(known.size).sameElements(known), s"other bytes at $begin")
      }
    }

  private def line(data: Array[Byte]): Unit = {
    val in = ByteBuffer.wrap(data).order(ByteOrder.LITTLE_ENDIAN)
    assert(data.length == 32)
    lines += 1
    lastLineBeat = cycles
    assert(in.getLong(0) > position, "a line without news")
    assert(in.getLong(0) - stream.size <= size, "a position more than a ring ahead")
    position = in.getLong(0)
    assert(in.getLong(8) >= records && in.getLong(16) >= lost && in.getLong(24) >= time)
    records = in.getLong(8)
    lost = in.getLong(16)
    time = in.getLong(24)
    while (stream.size < position) {
      val at   = stream.size                                     % size
      val part = (position - stream.size) min (segmentBytes - at % segmentBytes)
      stream ++= memory((at / segmentBytes).toInt).slice(
        (at % segmentBytes).toInt,
        (at % segmentBytes + part).toInt
      )
    }
  }
}

object RingHost {

  /** Addresses in host memory that the capture block writes: the ring's segments of 2^`segmentLog2`
    * bytes each, and the status line.
    */
  case class Ring(segments: Seq[BigInt], segmentLog2: Int, status: BigInt) {
    val segmentBytes = 1 << segmentLog2
  }

  /** Makes a ring of `count` segments at random addresses, and a status line outside of them. */
  def ring(random: Random, count: Int, segmentLog2: Int): Ring = {
    val places = random.shuffle((1 to 4 * count).toList).take(count + 1)
    val high   = BigInt(random.nextInt(1 << 20)) << 40
    val bases =
      places.map(place => high + (BigInt(place) << (segmentLog2 + 1)) + 4096 * random.nextInt(2))
    Ring(bases.tail, segmentLog2, bases.head + 32 * random.nextInt(64))
  }
}
