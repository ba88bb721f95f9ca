// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.player

import java.nio.{ByteBuffer, ByteOrder}
import scala.collection.mutable
import scala.util.Random

import lanebox.capture.TestFrame
import lanebox.vocabulary.Numbers

/** The frames that the player must make of a stream, and the results that it must tell. PlayerModel
  * computes them with code of its own for the player's rules and for pcapng.
  */
case class Played(
    frames: Seq[TestFrame],
    error: Int,
    passed: Int,
    skipped: Int,
    empty: Int,
    inBlock: Boolean
)

object PlayerModel {
  // The numbers of the player's errors, as software reads them.
  val Length  = 1
  val Lengths = 2
  val Long    = 3
  val Endian  = 4
  val Section = 5
  val Packet  = 6
  val Large   = 7
  val Port    = 8
  val Stream  = 9

  def buffer(bytes: Array[Byte]): ByteBuffer =
    ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)

  /** Returns the rule that the block at `at` breaks, or 0. Of several it is the one that the player
    * names: those of the length come first, then those of the block's header.
    */
  private def broken(in: ByteBuffer, at: Int, total: Int, fixedPort: Boolean): Int = {
    def word(offset: Int): Long = in.getInt(at + offset) & 0xffffffffL
    val length                  = word(4)
    def header: Int = word(0) match {
      case 0x0a0d0d0aL if word(8) == 0x4d3c2b1aL           => Endian
      case 0x0a0d0d0aL if word(8) != 0x1a2b3c4dL           => Section
      case 6 if word(20) < 16384 && word(20) + 32 > length => Packet
      case 6 if word(20) >= 16384 || word(24) >= 65536     => Large
      case 6 if !fixedPort && word(8) >= 16                => Port
      case _                                               => 0
    }
    if (length < 12 || length % 4 != 0) Length
    else if (length >= (1 << 24)) Long
    else if (header != 0) header
    else if (at + length <= total && in.getInt(at + length.toInt - 4) != length) Lengths
    else 0
  }

  def play(bytes: Array[Byte], fixedPort: Option[Int] = None): Played = {
    val in                         = buffer(bytes)
    val frames                     = mutable.ArrayBuffer[TestFrame]()
    var at, passed, skipped, empty = 0
    var error                      = 0
    while (error == 0 && at < bytes.length && (bytes.length - at >= 32 || fits(in, at, bytes))) {
      error = broken(in, at, bytes.length, fixedPort.nonEmpty)
      val length = in.getInt(at + 4)
      if (error == 0 && at + length > bytes.length)
        return Played(frames.toSeq, 0, passed, skipped, empty, inBlock = true)
      if (error == 0) {
        passed += 1
        if (in.getInt(at) != 6) skipped += 1
        else if (in.getInt(at + 20) == 0) empty += 1
        else frames += packet(in, bytes, at, fixedPort)
        at += length
      }
    }
    Played(frames.toSeq, error, passed, skipped, empty, error == 0 && at < bytes.length)
  }

  private def fits(in: ByteBuffer, at: Int, bytes: Array[Byte]): Boolean =
    bytes.length - at >= 12 && in.getInt(at + 4) <= bytes.length - at

  private def packet(in: ByteBuffer, bytes: Array[Byte], at: Int, port: Option[Int]): TestFrame = {
    val time = in.getInt(at + 12).toLong << 32 | (in.getInt(at + 16) & 0xffffffffL)
    val data = bytes.slice(at + 28, at + 28 + in.getInt(at + 20)).toIndexedSeq
    TestFrame(time, port.getOrElse(in.getInt(at + 8)), in.getInt(at + 24), data)
  }

  // Makers of pcapng blocks -----------------------------------------------------------------------

  def block(kind: Int, body: Array[Byte]): Array[Byte] = {
    require(body.length % 4 == 0)
    val out = buffer(new Array[Byte](body.length + 12))
    out.putInt(kind).putInt(body.length + 12).put(body).putInt(body.length + 12)
    out.array
  }

  /** An Enhanced Packet Block with `more` bytes of options, which mean nothing to the player. */
  def packet(frame: TestFrame, more: Array[Byte] = Array()): Array[Byte] = {
    val padded = (frame.data.size + 3) / 4 * 4
    val out    = buffer(new Array[Byte](20 + padded + more.length))
    out.putInt(frame.port).putInt((frame.time >>> 32).toInt).putInt(frame.time.toInt)
    out.putInt(frame.data.size).putInt(frame.original).put(frame.data.toArray)
    out.position(20 + padded)
    out.put(more)
    block(6, out.array)
  }

  def section(magic: Int = Numbers.PcapngOrderMagic): Array[Byte] = {
    val body = buffer(new Array[Byte](16))
    body.putInt(magic).putInt(1).putLong(-1)
    block(0x0a0d0d0a, body.array)
  }

  /** A block that the player passes over. Its type is never that of a packet or of a section. */
  def other(r: Random, most: Int): Array[Byte] = {
    val kinds = Seq(0, 1, 2, 3, 4, 5, 0x80004c42, 0x80004c46, 0x06000000, 0x0d0d0a0a)
    val body  = new Array[Byte](4 * r.nextInt(most / 4 + 1))
    r.nextBytes(body)
    block(kinds(r.nextInt(kinds.size)), body)
  }

  def anyBlock(r: Random, time: Long, largest: Int): Array[Byte] = r.nextInt(12) match {
    case 0     => other(r, 8)
    case 1     => other(r, 20)
    case 2     => other(r, 300)
    case 3     => section()
    case 4     => packet(TestFrame(time, 3, r.nextInt(100), IndexedSeq()), options(r))
    case 5 | 6 => packet(TestFrame.random(r, time, largest), options(r))
    case _     => packet(TestFrame.random(r, time, largest))
  }

  private def options(r: Random): Array[Byte] = {
    val more = new Array[Byte](4 * r.nextInt(20))
    r.nextBytes(more)
    more
  }

  /** Makes the stream a whole number of beats, with a block that the player passes over. */
  def padded(stream: Array[Byte]): Array[Byte] = {
    val rest = (32 - stream.length % 32) % 32
    val size = if (rest == 0) 0 else if (rest < 12) rest + 32 else rest
    if (size == 0) stream else stream ++ block(0x80004c46, new Array[Byte](size - 12))
  }
}
