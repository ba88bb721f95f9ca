// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.queues

import scala.util.Random

import lanebox.capture.TestFrame

/** Makes frames of networks for tests: VLAN tags, IPv4, IPv6 with extension headers, fragments,
  * TCP, UDP, SCTP, and such frames with wrong bytes or cut off anywhere.
  *
  * Addresses and ports are of a few values, so that rules match often.
  */
object FlowFrames {
  private def half(value: Int)                  = Seq(value >> 8 & 0xff, value & 0xff)
  private def pick[T](r: Random, values: T*): T = values(r.nextInt(values.size))
  private def random(r: Random, count: Int)     = Seq.fill(count)(r.nextInt(256))

  private def transport(r: Random, protocol: Int): Seq[Int] = {
    val ports = half(pick(r, 80, 443, 1024, 65535)) ++ half(pick(r, 53, 80, 8080))
    protocol match {
      case 6 => ports ++ random(r, 8) ++ Seq(0x50, pick(r, 0x02, 0x10, 0x12, 0x18)) ++ random(r, 6)
      case _ => ports ++ random(r, 4)
    }
  }

  private def ipv4(r: Random): Seq[Int] = {
    val options  = 4 * pick(r, 0, 0, 0, 1, 10)
    val flags    = pick(r, 0, 0, 0, 0x4000, 0x2000, 0x2004, 7)
    val protocol = pick(r, 1, 6, 6, 17, 17, 51, 132, 44)
    val head = Seq(0x40 + 5 + options / 4, 0) ++ random(r, 4) ++ half(flags) ++
      Seq(64, protocol) ++ random(r, 2) ++ address4(r) ++ address4(r)
    head ++ random(r, options) ++ behind(r, protocol, 1)
  }
  private def address4(r: Random) = Seq(10, 0, r.nextInt(2), r.nextInt(4))

  private def ipv6(r: Random): Seq[Int] = {
    val protocol = pick(r, 0, 6, 6, 17, 43, 44, 51, 58, 60, 132)
    Seq(0x60, 0, 0, 0) ++ random(r, 2) ++ Seq(protocol, 64) ++ address6(r) ++ address6(r) ++
      behind(r, protocol, 3)
  }
  private def address6(r: Random) =
    Seq(0x20, 1, 0xd, 0xb8, 0, 0, 0, r.nextInt(4)) ++ random(r, 7) :+ r.nextInt(2)

  /** Makes the bytes behind an IP header: up to `most` extension headers, and ports. */
  private def behind(r: Random, protocol: Int, most: Int): Seq[Int] = protocol match {
    case 0 | 43 | 44 | 51 | 60 if most > 0 =>
      val next  = pick(r, 0, 6, 17, 44, 51, 60, 59)
      val size  = pick(r, 0, 0, 1, 2)
      val bytes = if (protocol == 51) 4 * (size + 2) else 8 * (size + 1)
      val head = protocol match {
        case 44 => Seq(next, 0) ++ half(pick(r, 0, 1, 8, 9)) ++ random(r, 4)
        case _  => Seq(next, size) ++ random(r, bytes - 2)
      }
      head ++ behind(r, next, most - 1)
    case _ => transport(r, protocol)
  }

  /** Makes a frame of port 0 to 3 with the time `time`. */
  def apply(r: Random, time: Long): TestFrame = {
    val tags = Seq.fill(pick(r, 0, 0, 0, 1, 2, 3))(
      half(pick(r, 0x8100, 0x88a8, 0x9100)) ++ half(0x2000 + r.nextInt(4))
    ).flatten
    val payload = r.nextInt(8) match {
      case 0         => half(pick(r, 0x0806, 0x88f7, 46)) ++ random(r, 28)
      case 1 | 2 | 3 => half(0x86dd) ++ ipv6(r)
      case _         => half(0x0800) ++ ipv4(r)
    }
    val whole = (random(r, 12) ++ tags ++ payload ++ random(r, r.nextInt(120))).map(_.toByte)
    val bytes = r.nextInt(6) match {
      case 0                      => whole.take(1 + r.nextInt(whole.size))
      case 1                      => whole.updated(r.nextInt(whole.size min 80), r.nextInt().toByte)
      case 2 if r.nextInt(8) == 0 => Seq.fill(1 + r.nextInt(300))(r.nextInt().toByte)
      case _                      => whole
    }
    TestFrame(time, r.nextInt(4), bytes.size + r.nextInt(2) * r.nextInt(50), bytes.toIndexedSeq)
  }
}
