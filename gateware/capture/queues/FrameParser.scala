// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.queues

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.EtherType

/** Reads VLAN tags, IPv4 or IPv6 with its extension headers, and the ports of TCP, UDP and SCTP.
  *
  * FrameParser reads the first 128 bytes of a frame only. Any bytes may be there: if FrameParser
  * does not understand them, fields of the key are 0. A frame takes three cycles, and two more for
  * each extension header. The next frame is loaded in the last of these cycles.
  */
case class FrameParser() extends Component {
  val io = new Bundle {
    val headers = slave(Stream(FrameHeaders.Headers()))
    val soon    = out Bool () // FrameParser takes `headers` in the next cycle.
    // A dword of the frame that was taken, and the TCP flags of a header that begins there.
    val place = out UInt (FrameHeaders.DwordWidth bits)
    val word  = in Bits (32 bits)
    val flags = in Bits (8 bits)
    val key   = master(Stream(FlowKey()))
  }
  import FrameParser._
  import FrameHeaders.DwordWidth

  object Step extends SpinalEnum(binaryOneHot) {
    setName("ParserStep")
    val rest, network, read, decide = newElement()
  }
  val step    = RegInit(Step.rest)
  val headers = Reg(FrameHeaders.Headers())
  val loads   = Bool()
  // No stream operator fits: a frame takes several steps, and its key is still held in those of
  // the next frame.
  io.headers.ready := loads
  when(loads && io.headers.valid) { headers := io.headers.payload }

  /** Step 1 of a frame: the header of IPv4 or IPv6 behind 0 to 2 VLAN tags. */
  val network = new Area {
    def word(i: Int): Bits =
      Seq(1, 2).foldLeft(headers.dword(i))((chosen, tags) =>
        (headers.tags === tags) ? headers.dword(i + tags) | chosen
      )
    def holds(dwords: Int): Bool = headers.dwords >= headers.tags +^ U(dwords, DwordWidth bits)
    val words                    = Vec((0 until Ipv6Dwords).map(word))
    val version                  = words(0)(31 downto 28)
    // The length of the IPv4 header, in dwords.
    val size = words(0)(27 downto 24).asUInt
    val kind = headers.etherType
    val ipv4 =
      kind === EtherType.Ipv4 && version === 4 && size >= Ipv4Dwords && holds(Ipv4Dwords)
    val ipv6   = kind === EtherType.Ipv6 && version === 6 && holds(Ipv6Dwords)
    val later  = words(1)(12 downto 0) =/= 0 // A fragment of IPv4 that is not the first one.
    val behind = headers.tags.resize(PlaceWidth) + (ipv6 ? U(Ipv6Dwords, 4 bits) | size)
  }

  val key   = Reg(FlowKey())
  val place = Reg(UInt(PlaceWidth bits)) // The dword at which the next header begins.
  val hasPlace = Reg(Bool()) // The next header begins in this frame, not in an earlier fragment.
  // The result stays in `key` until it is taken. The first step of the next frame waits for that.
  val held = RegInit(False)
  val free = !held || io.key.ready
  when(io.key.ready) { held := False }
  when(step === Step.network && free) {
    import network._
    key.port        := headers.facts.port
    key.length      := headers.facts.length
    key.etherType   := headers.etherType
    key.tagged      := headers.tags =/= 0
    key.vlan        := headers.vlan
    key.ipv4        := ipv4
    key.ipv6        := ipv6
    key.fragment    := ipv4 && (later || words(1)(13))
    key.protocol    := 0
    key.source      := 0
    key.destination := 0
    when(ipv4) {
      key.protocol                   := words(2)(23 downto 16)
      key.source(127 downto 96)      := words(3)
      key.destination(127 downto 96) := words(4)
    }
    when(ipv6) {
      key.protocol    := words(1)(15 downto 8)
      key.source      := Cat(words.slice(2, 6).reverse)
      key.destination := Cat(words.slice(6, 10).reverse)
    }
    place    := behind
    hasPlace := ipv6 || ipv4 && !later
  }

  /** Step 2: reads the first dword of the next header, and the dword that has the flags if it is
    * TCP.
    */
  val read = new Area {
    io.place := place.resized
    val word    = RegNext(io.word)
    val flags   = RegNext(io.flags)
    val isHere  = hasPlace && place < headers.dwords
    val here    = RegNext(isHere)
    val flagged = RegNext(place + TcpFlagsDword < headers.dwords)
  }

  /** Step 3 finds that the header has ports, that it is an extension header to pass over, or that
    * the search ends.
    *
    * The protocol is compared in step 2, so that FrameHeaders learns in that step whether its next
    * frame is taken in step 3.
    */
  val decide = new Area {
    import read.{here, isHere, word}
    def speaks(protocols: Int*): Bool = protocols.map(key.protocol === _).reduce(_ || _)
    val wasFragment                   = speaks(Fragment) && key.ipv6
    val wasAhead                      = speaks(Authentication)
    val goesOn     = isHere && (wasFragment || wasAhead || speaks(Extensions: _*) && key.ipv6)
    val isFragment = RegNext(wasFragment)
    val isAhead    = RegNext(wasAhead)
    val isTcp      = RegNext(speaks(Tcp))
    val passes     = RegNext(goesOn)
    val ports      = RegNext(isHere && speaks(Tcp, Udp, Sctp))

    val length = word(23 downto 16).asUInt
    val size   = UInt(PlaceWidth bits)
    size := (length +^ U(1) << 1).resized
    when(isAhead) { size := (length +^ U(2)).resized }
    when(isFragment) { size := 2 }
    val next = place + size

    val ends = step === Step.decide && !passes
  }

  when(step === Step.decide) {
    key.hasPorts        := decide.ports
    key.sourcePort      := decide.ports ? read.word(31 downto 16).asUInt | U(0)
    key.destinationPort := decide.ports ? read.word(15 downto 0).asUInt | U(0)
    key.tcpFlags        := (read.here && decide.isTcp && read.flagged) ? read.flags | B(0, 8 bits)
    when(decide.passes) {
      key.protocol := read.word(31 downto 24)
      place        := decide.next
      when(decide.isFragment) {
        key.fragment := read.word(15 downto 3) =/= 0 || read.word(0)
        hasPlace     := read.word(15 downto 3) === 0
      }
    }
  }

  loads   := step === Step.rest || decide.ends
  io.soon := loads && !io.headers.valid || step === Step.read && !decide.goesOn
  switch(step) {
    is(Step.network) { when(free) { step := Step.read } }
    is(Step.read) { step := Step.decide }
    is(Step.decide) {
      when(decide.ends) {
        step := Step.rest
        held := True
      } otherwise { step := Step.read }
    }
  }
  when(loads && io.headers.valid) { step := Step.network }
  io.key.valid   := held
  io.key.payload := key
}

object FrameParser {
  val Ipv4Dwords = 5
  val Ipv6Dwords = 10

  val Tcp            = 6
  val Udp            = 17
  val Sctp           = 132
  val Fragment       = 44
  val Authentication = 51
  // Hop-by-hop options, routing, destination options: IPv6 headers whose length is in 8 bytes.
  val Extensions = Seq(0, 43, 60)

  /** The dword of a TCP header in which its flags are. */
  val TcpFlagsDword = 3

  /** The width of a position in the frame, in dwords. The end of the longest extension header fits.
    */
  val PlaceWidth = 10
}
