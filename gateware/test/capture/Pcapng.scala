// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture

import java.nio.{ByteBuffer, ByteOrder}
import scala.collection.mutable

/** A model of the blocks that the capture block writes to the ring, made from the pcapng
  * specification and not from the hardware. It makes records, and it reads blocks strictly.
  */
object Pcapng {
  val SealSize = 64

  private def buffer(size: Int) = ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN)

  /** Returns the bytes of a frame's record (an Enhanced Packet Block), with the first `kept` bytes
    * of the frame, and with `drops` as the number of lost frames before it.
    */
  def record(frame: TestFrame, kept: Int, drops: Long): IndexedSeq[Byte] = {
    val options = buffer(20)
    if (frame.flags != 0) options.putShort(2).putShort(4).putInt(frame.flags.toInt)
    if (drops != 0) options.putShort(4).putShort(8).putLong(drops)
    val unpadded = 28 + (kept + 3) / 4 * 4 + options.position() + 4
    val total    = (unpadded + 7) / 8 * 8
    val out      = buffer(total)
    out.putInt(6).putInt(total).putInt(frame.port)
    out.putInt((frame.time >>> 32).toInt).putInt(frame.time.toInt)
    out.putInt(kept).putInt(frame.original).put(frame.data.take(kept).toArray)
    out.position(28 + (kept + 3) / 4 * 4)
    out.put(options.array.take(options.position()))
    out.position(total - 4)
    out.putInt(total).array.toIndexedSeq
  }

  sealed trait Item { def size: Int }
  case class Packet(
      port: Int,
      time: Long,
      kept: Int,
      original: Int,
      data: IndexedSeq[Byte],
      flags: Long,
      drops: Long,
      size: Int
  ) extends Item
  case class Sealed(
      reason: Int,
      number: Long,
      time: Long,
      records: Long,
      bytes: Long,
      lostRing: Int,
      lostNoCell: Int,
      size: Int,
      queue: Int = 0
  ) extends Item
  case class Filler(size: Int) extends Item

  /** Splits the bytes of a recording into pcapng blocks. Fails unless all blocks are whole and well
    * formed.
    */
  def read(bytes: Array[Byte]): Seq[Item] = {
    val items = mutable.ArrayBuffer[Item]()
    val in    = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)
    var at    = 0
    while (at < bytes.length) {
      val size = in.getInt(at + 4)
      assert(size % 8 == 0 && size >= 16 && at + size <= bytes.length, s"size $size at $at")
      assert(in.getInt(at + size - 4) == size, s"the second length at $at")
      items += block(in, bytes, at, size)
      at += size
    }
    items.toSeq
  }

  private def block(in: ByteBuffer, bytes: Array[Byte], at: Int, size: Int): Item =
    in.getInt(at) match {
      case 6          => packet(in, bytes, at, size)
      case 0x80004c42 =>
        // The seal's magic and offsets are repeated here, so that a wrong one in numbers.py fails.
        assert(in.getInt(at + 8) == 0x4c420001, "the seal's magic")
        assert(bytes.slice(at + 56, at + size - 4).forall(_ == 0), "the seal's rest")
        Sealed(
          in.getInt(at + 12) >>> 16,
          in.getLong(at + 16),
          in.getLong(at + 24),
          in.getLong(at + 32),
          in.getLong(at + 40),
          in.getInt(at + 48),
          in.getInt(at + 52),
          size,
          in.getInt(at + 12) & 0xffff
        )
      case 0x80004c46 =>
        assert(size <= 4096, s"a filler of $size bytes")
        assert(bytes.slice(at + 8, at + size - 4).forall(_ == 0), "a filler's contents")
        Filler(size)
      case kind => throw new AssertionError(f"a block of type $kind%08x at $at")
    }

  private def packet(in: ByteBuffer, bytes: Array[Byte], at: Int, size: Int): Packet = {
    val kept         = in.getInt(at + 20)
    val end          = at + 28 + kept
    var option       = at + 28 + (kept + 3) / 4 * 4
    var flags, drops = 0L
    assert(bytes.slice(end, option).forall(_ == 0), "the data's padding")
    while (option < at + size - 4) in.getInt(option) match {
      case 0x00040002 =>
        flags = in.getInt(option + 4) & 0xffffffffL
        option += 8
      case 0x00080004 =>
        drops = in.getLong(option + 4)
        option += 12
      case 0     => option += 4
      case other => throw new AssertionError(f"an option $other%08x")
    }
    assert(option == at + size - 4)
    val time = (in.getInt(at + 12) & 0xffffffffL) << 32 | in.getInt(at + 16) & 0xffffffffL
    val data = bytes.slice(at + 28, end).toIndexedSeq
    Packet(in.getInt(at + 8), time, kept, in.getInt(at + 24), data, flags, drops, size)
  }

  /** Splits a recording into MBUFs (parts of the ring, `mbuf` bytes each) and returns the blocks of
    * each. Checks that each MBUF has packets, then fillers, then a seal at its end.
    */
  def checkMbufs(bytes: Array[Byte], mbuf: Int): Seq[Seq[Item]] =
    bytes.grouped(mbuf).toSeq.zipWithIndex.map { case (part, number) =>
      val items = read(part)
      assert(items.head.isInstanceOf[Packet], s"MBUF $number begins with ${items.head}")
      val rest = items.dropWhile(_.isInstanceOf[Packet])
      assert(rest.init.forall(_.isInstanceOf[Filler]), s"MBUF $number ends with $rest")
      // All fillers of an MBUF but the last must have the largest size, 4096 bytes. A seal has 64
      // bytes, or 72 where 8 bytes are left over, which are too few for a filler.
      val fillers = rest.init.map(_.size)
      assert(fillers.dropRight(1).forall(_ == 4096), s"fillers $fillers")
      rest.last match {
        case seal: Sealed => assert(seal.number == number && Set(64, 72)(seal.size), s"$seal")
        case other        => throw new AssertionError(s"MBUF $number ends with $other")
      }
      items
    }
}
