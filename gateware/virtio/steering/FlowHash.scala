// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.steering

import spinal.core._

import lanebox.vocabulary.EtherType

/** Finds the flow of frames that come in beats of 32 bytes: a hash of their addresses and ports,
  * which is the same in both directions.
  *
  * `found` and `hash` are valid with the second beat of a frame: the frame is an IP packet without
  * a VLAN tag, and its hash. `forget` says that the next beat is the first one of a frame.
  *
  * All frames of a flow must have the same hash. Only packets of TCP and UDP have ports, and only
  * the first fragment of a packet has them. So the ports of fragments are left out, as are those of
  * IPv4 packets with options and those of IPv6 packets with extension headers. Of an IPv6 address
  * only the last two bytes count.
  */
case class FlowHash(valid: Bool, last: Bool, data: Bits, forget: Bool) extends Area {
  import FlowHash._

  val first, second = RegInit(False)
  first.init(True)
  when(valid) {
    first  := last
    second := first && !last
  }
  when(forget) {
    first  := True
    second := False
  }

  // Numbers of more than a byte are in network order.
  def byte(n: Int): UInt = data(8 * (n % 32), 8 bits).asUInt
  def word(n: Int): UInt = byte(n) @@ byte(n + 1)
  def folded(n: Int): Bits = {
    val bits = word(n)
    Vec((0 until Width).map(i => (i until 16 by Width).map(bits(_)).reduce(_ ^ _))).asBits
  }
  def hasPorts(protocol: UInt): Bool = Protocols.map(protocol === _).reduce(_ || _)

  val ip4      = word(12) === EtherType.Ipv4 && byte(14)(7 downto 4) === 4
  val ip6      = word(12) === EtherType.Ipv6
  val fragment = (word(20) & 0x3fff) =/= 0 // More fragments follow, or some came before.
  val ports    = ip6 ? hasPorts(byte(20)) | (hasPorts(byte(23)) && byte(14) === 0x45 && !fragment)

  val begin = new Area {
    val four  = RegNextWhen(ip4, valid && first)
    val six   = RegNextWhen(ip6, valid && first)
    val ports = RegNextWhen(FlowHash.this.ports, valid && first)
    val hash  = RegNextWhen(folded(26) ^ folded(28) ^ folded(30), valid && first)
  }
  val found   = valid && second && (begin.four || begin.six)
  val address = begin.six ? (folded(36) ^ folded(52)) | (begin.hash ^ folded(32))
  val port    = begin.six ? (folded(54) ^ folded(56)) | (folded(34) ^ folded(36))
  val hash    = (address ^ port.andMask(begin.ports)).asUInt
}

object FlowHash {
  val Width     = 7
  val Protocols = Seq(6, 17) // TCP and UDP.
}
