// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.steering

import scala.util.Random

/** A flow of packets for tests: the packets of a connection, in both directions. `id` is in the
  * packets' data, and is given to one flow only.
  *
  * `kind` says what the packets are: UDP or TCP over IPv4 or IPv6, fragments of UDP, ICMP, or no IP
  * packets at all.
  */
case class Flow(id: Int, kind: Flow.Kind, random: Random) {
  import Flow._
  private def some(n: Int): Seq[Int] = Seq.fill(n)(random.nextInt(256))
  private def two(n: Int): Seq[Int]  = Seq(n >> 8 & 0xff, n & 0xff)

  private val (near, far)   = (some(16), some(16))
  private val (here, there) = (some(2), some(2))
  private val protocol      = if (random.nextBoolean()) 6 else 17

  /** Returns a frame of the flow, of which `number` is a part: one of the driver's, or with `back`
    * one that it receives.
    */
  def frame(number: Int, back: Boolean): IndexedSeq[Byte] = {
    def ends[T](one: T, other: T) = if (back) Seq(other, one) else Seq(one, other)
    val ports                     = ends(here, there).flatten
    val mark                      = Seq(id) ++ two(number)
    val body = kind match {
      case Four    => ip4(protocol, 0x40, ends(near, far)) ++ ports ++ some(8)
      case Options => ip4(protocol, 0x40, ends(near, far), 0x46) ++ some(4) ++ ports ++ some(8)
      case Pieces  => ip4(17, 0x20, ends(near, far)) ++ some(12)
      case Echo    => ip4(1, 0, ends(near, far)) ++ some(8)
      case Six =>
        two(0x86dd) ++ Seq(0x60) ++ some(3) ++ two(40) ++ Seq(protocol, 64) ++
          ends(near, far).flatten ++ ports ++ some(8)
      case Other => two(0x0806) ++ some(40)
      case Tiny  => two(0x0806)
    }
    (some(12) ++ body ++ mark).map(_.toByte).toIndexedSeq
  }
  private def ip4(protocol: Int, flags: Int, ends: Seq[Seq[Int]], first: Int = 0x45): Seq[Int] =
    two(0x0800) ++ Seq(first) ++ some(5) ++ Seq(flags, 0, 64, protocol) ++ some(2) ++
      ends.flatMap(_.take(4))

  /** Returns whether the card can know the flow. */
  def known: Boolean = kind != Other && kind != Tiny

  /** The place of the flow in the card's table. */
  def place: Int = {
    val ends =
      if (kind == Six) Seq(near, far).map(_.takeRight(2)) else Seq(near, far).map(_.take(4))
    val ports = if (kind == Four || kind == Six) Seq(here, there) else Seq()
    val words = (ends ++ ports).flatten.grouped(2).map { case Seq(high, low) => high << 8 | low }
    val all   = words.fold(0)(_ ^ _)
    (all ^ all >> 7 ^ all >> 14) & 127
  }
}

object Flow {
  sealed trait Kind
  case object Four    extends Kind
  case object Options extends Kind
  case object Pieces  extends Kind
  case object Echo    extends Kind
  case object Six     extends Kind
  case object Other   extends Kind
  case object Tiny    extends Kind
  val Kinds = Seq(Four, Options, Pieces, Echo, Six, Other, Tiny)

  /** Returns the flow's id and the number that a frame has. */
  def mark(frame: Seq[Byte]): (Int, Int) = {
    val Seq(id, high, low) = frame.takeRight(3).map(_ & 0xff)
    (id, high << 8 | low)
  }
}
