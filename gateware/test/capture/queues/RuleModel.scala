// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.queues

import scala.util.Random

/** A rule as the host thinks of it: what a frame must be like, and what is done with it. `words`
  * are what the host writes.
  */
case class RuleModel(
    port: Option[Int] = None,
    version: Option[Int] = None,
    fragment: Option[Boolean] = None,
    hasPorts: Option[Boolean] = None,
    protocol: Option[Int] = None,
    vlan: Option[Int] = None,
    tagged: Option[Boolean] = None,
    etherType: Option[Int] = None,
    tcpFlags: (Int, Int) = (0, 0), // Value and mask.
    // The first 64 bits of an address, and how many of these bits are compared.
    source: (Seq[Int], Int) = (Seq(), 0),
    destination: (Seq[Int], Int) = (Seq(), 0),
    sourcePorts: (Int, Int) = (0, 65535),
    destinationPorts: (Int, Int) = (0, 65535),
    lengths: (Int, Int) = (0, 65535),
    snap: Int = 0,
    queue: Option[Int] = None,
    discard: Boolean = false,
    on: Boolean = true
) {
  def matches(flow: FlowModel): Boolean = {
    def wants[T](value: Option[T], has: T)  = value.forall(_ == has)
    def within(range: (Int, Int), has: Int) = has >= range._1 && has <= range._2
    def prefix(wanted: (Seq[Int], Int), has: Seq[Int]) =
      RuleModel.bits(wanted._1).take(wanted._2) == RuleModel.bits(has).take(wanted._2)
    val ports = flow.ports.getOrElse((0, 0))
    on && wants(port, flow.port) && wants(version, flow.version) &&
    wants(fragment, flow.fragment) && wants(hasPorts, flow.ports.nonEmpty) &&
    wants(protocol, flow.protocol) && wants(vlan, flow.vlan.getOrElse(0)) &&
    wants(tagged, flow.vlan.nonEmpty) && wants(etherType, flow.etherType) &&
    (flow.tcpFlags & tcpFlags._2) == (tcpFlags._1 & tcpFlags._2) &&
    prefix(source, flow.source) && prefix(destination, flow.destination) &&
    within(sourcePorts, ports._1) && within(destinationPorts, ports._2) &&
    within(lengths, flow.length)
  }

  /** Returns the rule's 16 words, in the format that Rule.scala describes. */
  def words: Seq[Long] = {
    def field(at: Int, width: Int, value: Option[Int]) = value.fold((0L, 0L)) { number =>
      (number.toLong << at, ((1L << width) - 1) << at)
    }
    def both(fields: (Long, Long)*) =
      fields.reduce((a: (Long, Long), b: (Long, Long)) => (a._1 | b._1, a._2 | b._2))
    def bit(at: Int, value: Option[Boolean]) = field(at, 1, value.map(if (_) 1 else 0))
    val facts = both(
      field(0, 4, port),
      bit(4, version.map(_ == 4)),
      bit(5, version.map(_ == 6)),
      bit(6, fragment),
      bit(7, hasPorts),
      field(8, 8, protocol),
      field(16, 12, vlan),
      bit(28, tagged)
    )
    val kinds = both(field(0, 16, etherType), (tcpFlags._1.toLong << 16, tcpFlags._2.toLong << 16))
    def address(wanted: (Seq[Int], Int)) = {
      val value = RuleModel.number(RuleModel.bits(wanted._1))
      val mask  = RuleModel.number(Seq.tabulate(64)(_ < wanted._2))
      Seq(value >> 32, value, mask >> 32, mask).map(half => (half & 0xffffffffL).toLong)
    }
    def range(range: (Int, Int)) = range._1.toLong | range._2.toLong << 16
    val action = snap.toLong | queue.fold(0L)(_.toLong << 16 | 1L << 20) |
      (if (discard) 1L << 21 else 0) | (if (on) 1L << 31 else 0)
    Seq(facts._1, facts._2, kinds._1, kinds._2) ++ address(source) ++ address(destination) ++
      Seq(range(sourcePorts), range(destinationPorts), range(lengths), action)
  }
}

object RuleModel {

  /** The first 64 bits of an address of any length, as frames have them: IPv4 is followed by 0. */
  private def bits(address: Seq[Int]): Seq[Boolean] =
    address.padTo(8, 0).take(8).flatMap(byte => (7 to 0 by -1).map(i => (byte >> i & 1) == 1))
  private def number(bits: Seq[Boolean]): BigInt =
    bits.foldLeft(BigInt(0))((sum, bit) => sum * 2 + (if (bit) 1 else 0))

  /** Makes a rule that matches a good part of the frames of FlowFrames. */
  def random(r: Random): RuleModel = {
    def pick[T](values: T*): T = values(r.nextInt(values.size))
    val plain = RuleModel(
      snap = pick(0, 0, 1, 60, 96, 1000),
      queue = pick(None, Some(r.nextInt(16))),
      discard = r.nextInt(4) == 0,
      on = r.nextInt(10) > 0
    )
    r.nextInt(12) match {
      case 0  => plain.copy(port = Some(r.nextInt(4)), fragment = pick(None, Some(true)))
      case 1  => plain.copy(version = Some(pick(0, 4, 6)), hasPorts = Some(r.nextBoolean()))
      case 2  => plain.copy(protocol = Some(pick(6, 17, 132, 58)))
      case 3  => plain.copy(vlan = Some(r.nextInt(4)), tagged = Some(true))
      case 4  => plain.copy(etherType = Some(pick(0x806, 0x800, 0x86dd)), tagged = Some(false))
      case 5  => plain.copy(tcpFlags = (0x02, 0x12), protocol = Some(6))
      case 6  => plain.copy(source = (Seq(10, 0, r.nextInt(2), 0), pick(8, 24)), version = Some(4))
      case 7  => plain.copy(destination = (Seq(10, 0, 1, r.nextInt(4)), 32))
      case 8  => plain.copy(source = (Seq(0x20, 1, 0xd, 0xb8, 0, 0, 0, r.nextInt(4)), pick(32, 64)))
      case 9  => plain.copy(sourcePorts = pick((80, 80), (0, 1023), (1024, 65535)))
      case 10 => plain.copy(destinationPorts = pick((53, 80), (8080, 8080)))
      case _  => plain.copy(lengths = pick((60, 99), (0, 59), (150, 65535)))
    }
  }
}
