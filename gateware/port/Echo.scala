// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.port

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.{EtherType, Frames, HardBlock, Numbers}

/** A station of a network that answers each frame by the same frame, with sender and receiver
  * exchanged: ARP requests for any IPv4 address, ICMP echo requests, and UDP to any port.
  *
  * A beat is taken in every cycle in which the answer of an earlier beat is taken. Later fragments
  * of ICMP and UDP are answered as they are, so a datagram in fragments comes back whole. All other
  * frames are dropped: those with `error`, IPv4 with options, and frames to a group of stations
  * other than ARP. An ARP request is not answered if its sender asks for its own address or has
  * none, since it only looks whether the address is free.
  *
  * Exchanged addresses and ports leave the checksums of IPv4 and UDP as they are. That of ICMP is
  * adjusted for the changed type (RFC 1624).
  */
case class Echo() extends Component {
  setDefinitionName("Echo")
  import Echo._

  val io = new Bundle {
    val sink   = slave(Frames())
    val source = master(Frames())
    val busy   = out Bool ()
  }
  noIoPrefix()

  val next = io.sink.m2sPipe() // The beat that follows `beat`.
  val beat = next.m2sPipe()
  // The facts of `beat` alone. They are found a cycle earlier, since whether a beat is taken
  // depends on them.
  val facts = RegNextWhen(Facts(next.payload), next.ready)
  io.busy := next.valid || beat.valid || io.source.valid

  // The first beat of a frame waits for the second one, which has a part of the addresses.
  val first   = RegNextWhen(beat.last, beat.fire) init True
  val second  = RegNextWhen(first && !beat.last, beat.fire) init False
  val waits   = first && !beat.last && !next.valid
  val present = beat.haltWhen(waits)

  /** The fields of a frame, while its first beat is `beat` and its second one is `next`. Byte 0 of
    * a field is in its lowest bits.
    */
  val frame = new Area {
    val one, two = Bits(HardBlock.DataWidth bits)
    one := beat.data
    two := next.data
    private def early(at: Int, bytes: Int): Bits = one(8 * at, 8 * bytes bits)
    private def late(at: Int, bytes: Int): Bits  = two(8 * (at - Frames.BeatBytes), 8 * bytes bits)

    val receiver  = early(0, 6)
    val sender    = early(6, 6)
    val arpSender = early(22, 6)
    val arpFrom   = early(28, 4)
    val arpTo     = late(38, 4)
    val isArp     = facts.asksArp && arpFrom =/= arpTo
    val asks      = late(34, 1) === field("08")
    val from      = early(26, 4)
    val to        = row(early(30, 2), late(32, 2))
    val answered  = isArp || facts.isUdp || (facts.isIcmp && (asks || facts.later))

    private def same(at: Int, bytes: Int): Bits = early(at, bytes)
    private val arp =
      row(sender, own, same(12, 8), field("0002"), own, arpTo)
    private val ip = row(sender, receiver, same(12, 14), to, from(15 downto 0))
    val data       = isArp ? arp | ip
  }

  /** The facts that the second beat needs of the first one, and whether the frame is dropped. */
  val known = new Area {
    private def keep[T <: Data](fact: T): T = RegNextWhen(fact, present.fire && first)
    val answered                            = keep(frame.answered)
    val isArp                               = keep(frame.isArp)
    val isUdp                               = keep(facts.isUdp && !facts.later)
    val isIcmp                              = keep(facts.isIcmp && !facts.later)
    val arpSender                           = keep(frame.arpSender)
    val arpFrom                             = keep(frame.arpFrom)
    val from                                = keep(frame.from(31 downto 16))
  }

  /** The second beat of an answer. */
  val rest = new Area {
    private def at(byte: Int, bytes: Int): Bits = beat.data(8 * byte, 8 * bytes bits)
    private val behind                          = at(6, Frames.BeatBytes - 6)
    private val arp = row(known.arpSender, known.arpFrom, at(10, Frames.BeatBytes - 10))
    // The type changes from 8 to 0, so the sum of the other words, which the checksum completes,
    // falls by 0x0800.
    val sum = (at(4, 1) ## at(5, 1)).asUInt +^ 0x0800
    val end = sum(15 downto 0) + sum.msb.asUInt
    private val icmp =
      row(field("00"), at(3, 1), end(15 downto 8).asBits, end(7 downto 0).asBits)
    private val udp   = row(at(4, 2), at(2, 2))
    private val plain = at(2, 4)
    private val ports = known.isUdp ? udp | (known.isIcmp ? icmp | plain)
    val data          = known.isArp ? arp | row(known.from, ports, behind)
  }

  val drops  = !(first ? frame.answered | known.answered)
  val answer = Fragment(Frames.Beat())
  answer := beat.payload
  when(first) { answer.fragment.data := frame.data }
  when(second) { answer.fragment.data := rest.data }
  io.source << present.throwWhen(drops).translateWith(answer).m2sPipe()
}

object Echo {

  /** The facts that the first beat of a frame has by itself. */
  case class Facts() extends Bundle {
    val asksArp = Bool() // An ARP request whose sender has an address.
    val isUdp   = Bool() // A UDP packet that is to be answered.
    val isIcmp  = Bool() // An ICMP packet, which is to be answered if it is an echo request.
    val later   = Bool() // The packet is a fragment, but not the first one.
  }
  object Facts {

    /** Returns the facts of `beat`, which is the first one of its frame. */
    def apply(beat: Fragment[Frames.Beat]): Facts = {
      def bytes(at: Int, count: Int): Bits   = beat.data(8 * at, 8 * count bits)
      def is(at: Int, content: String): Bool = bytes(at, content.length / 2) === field(content)
      val long    = beat.head.kept >= Shortest && !beat.last && !beat.error
      val request = bytes(12, 2) === ofType(EtherType.Arp) && is(14, "0001080006040001")
      val plain   = bytes(12, 2) === ofType(EtherType.Ipv4) && is(14, "45")
      val isIp    = long && plain && !beat.data(0) // The frame is to one station, not to a group.
      val facts   = Facts()
      facts.asksArp := long && request && bytes(28, 4) =/= 0
      facts.isUdp   := isIp && is(23, "11")
      facts.isIcmp  := isIp && is(23, "01")
      facts.later   := (bytes(20, 2) & field("1fff")) =/= 0
      facts
    }
  }

  /** Bytes of the shortest frame that is answered: ARP, or IPv4 and 8 bytes behind its header. */
  val Shortest = 42

  /** Returns the bytes of a field as bits. `bytes` has them in hex, in the order of the frame. */
  def field(bytes: String): Bits =
    B(BigInt(bytes.grouped(2).toSeq.reverse.mkString, 16), 4 * bytes.length bits)

  /** Returns an EtherType as bits, in the byte order of the frame. */
  def ofType(value: Int): Bits = field(f"$value%04x")

  /** Puts fields one behind the other. The first one is in front, so in the lowest bits. */
  def row(fields: Bits*): Bits = fields.reverse.reduce(_ ## _)

  /** The station's own MAC address. */
  def own: Bits = field(f"${Numbers.EchoMac}%012x")
}
