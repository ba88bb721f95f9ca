// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.queues

/** The fields that the parser must find in a frame, written from the standards and not from the
  * hardware.
  *
  * FlowModel walks through the frame's first 128 bytes, and stops at the first header that it does
  * not know or that does not fit.
  */
case class FlowModel(
    port: Int,
    length: Int,
    etherType: Int = 0,
    vlan: Option[Int] = None,
    version: Int = 0, // 4 or 6 with an IP header, else 0.
    fragment: Boolean = false,
    protocol: Int = 0,
    source: Seq[Int] = Seq(),
    destination: Seq[Int] = Seq(),
    ports: Option[(Int, Int)] = None,
    tcpFlags: Int = 0
) {

  /** The hash with which the frame is spread over the queues. */
  def hash(key: BigInt): Long = if (version == 0) 0
  else {
    val halves = ports.filter(_ => !fragment).toSeq.flatMap { case (a, b) => Seq(a, b) }
    FlowModel.toeplitz(key, source ++ destination ++ halves.flatMap(p => Seq(p >> 8, p & 0xff)))
  }
}

object FlowModel {

  /** Toeplitz as its definition says: for each bit of the input that is 1, the present 32 bits of
    * the key are added, and then the key moves on by a bit.
    */
  def toeplitz(key: BigInt, input: Seq[Int]): Long =
    input.flatMap(byte => (7 to 0 by -1).map(i => (byte >> i & 1) == 1)).zipWithIndex.foldLeft(0L) {
      case (sum, (true, bit)) => sum ^ (key >> (Toeplitz.KeyBits - 32 - bit)).toLong & 0xffffffffL
      case (sum, _)           => sum
    }

  def apply(frame: IndexedSeq[Byte], port: Int, length: Int): FlowModel = {
    // Headers are looked for in whole dwords behind the Ethernet header, up to byte 126.
    val bytes              = frame.take(126).map(_ & 0xff)
    val end                = if (bytes.size < 14) 0 else 14 + (bytes.size - 14) / 4 * 4
    def half(at: Int): Int = bytes(at) << 8 | bytes(at + 1)
    def tagged(at: Int)    = Set(0x8100, 0x88a8, 0x9100)(half(at - 2)) && bytes.size >= at + 4
    val plain              = FlowModel(port, length)
    if (bytes.size < 14) plain
    else {
      val tags  = if (!tagged(14)) 0 else if (!tagged(18)) 1 else 2
      val begin = 14 + 4 * tags
      val found = plain.copy(
        etherType = half(begin - 2),
        vlan = if (tags > 0) Some(half(14) & 0xfff) else None
      )
      val header = 4 * (if (begin < end) bytes(begin) & 15 else 0)
      if (found.etherType == 0x800 && begin + 20 <= end && bytes(begin) >> 4 == 4 && header >= 20) {
        val flags = half(begin + 6)
        val ip = found.copy(
          version = 4,
          fragment = (flags & 0x3fff) != 0,
          protocol = bytes(begin + 9),
          source = bytes.slice(begin + 12, begin + 16),
          destination = bytes.slice(begin + 16, begin + 20)
        )
        if ((flags & 0x1fff) != 0) ip else walk(ip, bytes.take(end), begin + header)
      } else if (found.etherType == 0x86dd && begin + 40 <= end && bytes(begin) >> 4 == 6) {
        val ip = found.copy(
          version = 6,
          protocol = bytes(begin + 6),
          source = bytes.slice(begin + 8, begin + 24),
          destination = bytes.slice(begin + 24, begin + 40)
        )
        walk(ip, bytes.take(end), begin + 40)
      } else found
    }
  }

  private def walk(ip: FlowModel, bytes: IndexedSeq[Int], at: Int): FlowModel =
    if (at >= bytes.size) ip
    else {
      def half(i: Int) = bytes(at + i) << 8 | bytes(at + i + 1)
      def next         = ip.copy(protocol = bytes(at))
      val six          = ip.version == 6
      ip.protocol match {
        case 0 | 43 | 60 if six => walk(next, bytes, at + 8 * (bytes(at + 1) + 1))
        case 51                 => walk(next, bytes, at + 4 * (bytes(at + 1) + 2))
        case 44 if six =>
          val offset = half(2) >> 3
          val part   = next.copy(fragment = offset != 0 || (half(2) & 1) == 1)
          if (offset != 0) part else walk(part, bytes, at + 8)
        case 6 | 17 | 132 =>
          val flags = if (ip.protocol == 6 && at + 16 <= bytes.size) bytes(at + 13) else 0
          ip.copy(ports = Some((half(0), half(2))), tcpFlags = flags)
        case _ => ip
      }
    }
}
