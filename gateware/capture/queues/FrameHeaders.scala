// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.queues

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.{EtherType, Frames}

/** Gathers the first 128 bytes of each frame, in which the parser looks for headers.
  *
  * The first 64 bytes, in which IP is, are offered all at once. All 128 bytes are in LUTRAM, which
  * has them for the frame that is gathered, and for the frame whose headers were taken last. Of
  * this frame `word` shows the dword `place` from byte 14 on, and `flags` the place of the TCP
  * flags behind it.
  *
  * FrameHeaders copies beats that go to another stage. A beat may come only while `ready` is high.
  * `ready` is low while the headers of an earlier frame have not been taken, and are not taken now.
  * It is a register, since the path from it to the sources of frames is long. So `soon` says
  * whether the headers can be taken in the next cycle.
  */
case class FrameHeaders() extends Component {
  val io = new Bundle {
    val beat    = slave(Flow(Fragment(Frames.Beat()))) // Valid only while `ready` is high.
    val ready   = out Bool ()
    val soon    = in Bool ()
    val headers = master(Stream(FrameHeaders.Headers()))
    val place   = in UInt (FrameHeaders.DwordWidth bits)
    val word    = out Bits (32 bits)
    val flags   = out Bits (8 bits)
  }
  import FrameHeaders._

  val beats = Reg(Vec(Bits(8 * Frames.BeatBytes bits), OfferedBeats))
  val head  = Reg(Facts())
  val full  = RegInit(False)
  val at    = Reg(UInt(log2Up(Beats + 1) bits)) init 0 // Beats of the present frame; at most 4.

  val isKept = at < Beats
  val fills  = io.beat.valid && isKept && (io.beat.last || at === Beats - 1)
  val stays  = full && !io.headers.ready
  val ready  = RegNext(!fills && !stays || io.soon) init False
  full     := fills || stays
  io.ready := ready
  when(io.beat.valid) {
    when(at < OfferedBeats) { beats(at.resized) := io.beat.data }
    when(isKept) { at := at + 1 }
    when(at === 0) {
      head.port   := io.beat.head.port
      head.length := io.beat.head.original
      head.bytes  := io.beat.head.kept
    }
    when(io.beat.last) { at := 0 }
  }

  // No stream operator fits: up to four beats become one `headers`.
  io.headers.valid := full
  io.headers.bytes := beats.asBits
  io.headers.facts := head

  /** Keeps all beats of two frames. A dword from byte 14 on is a half with an odd number, of
    * all halves of a beat, and the next half. So it is read from two memories.
    */
  val look = new Area {
    val gathers = RegInit(False) // The part of the memories for the frame that is gathered.
    when(fills) { gathers := !gathers }
    val taken  = RegNextWhen(!gathers, io.headers.fire)
    val halves = io.beat.data.subdivideIn(16 bits)
    val writes = io.beat.valid && isKept

    /** Stores the given halves of each beat, and returns the one that has the number `index`. */
    def stored(parts: Seq[Bits], index: UInt): Bits = {
      val memory = Mem(Bits(parts.map(widthOf(_)).sum bits), 2 * Beats)
      memory.addAttribute("ram_style", "distributed")
      memory.write(gathers.asUInt @@ at.resize(log2Up(Beats)), Cat(parts), writes)
      val row = memory.readAsync(taken.asUInt @@ (index >> 3))
      row.subdivideIn(parts.size slices)(index(2 downto 0))
    }
    val odd                        = (0 until 8).map(i => halves(2 * i + 1))
    val even                       = (0 until 8).map(i => halves(2 * i))
    val first                      = stored(odd, io.place + 3)
    val second                     = stored(even, io.place + 4)
    val Seq(one, two, three, four) = Seq(first, second).flatMap(_.subdivideIn(8 bits))
    val flags = stored(odd.map(_(15 downto 8)), io.place + (3 + FrameParser.TcpFlagsDword))
    io.word  := one ## two ## three ## four
    io.flags := flags
  }

  /** Finds the VLAN tags. They and the EtherType are in the frame's first beat. */
  val tags = new Area {
    def half(at: Int): Bits     = beats(0)(8 * at, 8 bits) ## beats(0)(8 * at + 8, 8 bits)
    def isTag(kind: Bits): Bool = EtherType.Tags.map(kind === _).orR
    def holds(bytes: Int): Bool = head.bytes >= bytes
    val one                     = isTag(half(12)) && holds(18)
    val two                     = one && isTag(half(16)) && holds(22)
    io.headers.tags      := one.asUInt + two.asUInt.resize(2)
    io.headers.vlan      := one ? half(14).resize(12) | B(0, 12 bits)
    io.headers.etherType := two ? half(20) | (one ? half(16) | half(12))
    when(!holds(14)) { io.headers.etherType := 0 }
  }

  // The dwords of `headers` begin with byte 14, behind an Ethernet header without tags.
  val most = U((Beats * Frames.BeatBytes - EthernetBytes) / 4, DwordWidth bits)
  val rest = (head.bytes - EthernetBytes) >> 2
  io.headers.dwords := (head.bytes < EthernetBytes) ? U(0, DwordWidth bits) |
    ((rest > most) ? most | rest.resize(DwordWidth))
}

object FrameHeaders {
  val Beats         = 4
  val OfferedBeats  = 2
  val EthernetBytes = 14
  val Dwords        = (Beats * Frames.BeatBytes - EthernetBytes) / 4
  val DwordWidth    = log2Up(Dwords + 1)

  /** The facts about a frame that come from its source, and that rules compare. */
  case class Facts() extends Bundle {
    val port   = UInt(Frames.PortWidth bits)
    val length = UInt(16 bits)
    val bytes  = UInt(Frames.LengthWidth bits) // Bytes of the frame that its beats carry.
  }

  /** The first 64 bytes of a frame. Bytes beyond the end of a shorter frame have any value. */
  case class Headers() extends Bundle {
    val bytes     = Bits(8 * OfferedBeats * Frames.BeatBytes bits)
    val facts     = Facts()
    val tags      = UInt(2 bits)          // Number of VLAN tags, 0 to 2.
    val vlan      = Bits(12 bits)
    val etherType = Bits(16 bits)
    val dwords    = UInt(DwordWidth bits) // Whole dwords of the frame from its byte 14 on.

    /** Returns dword `i` of the frame from byte 14 on. Its first byte is the most significant one.
      */
    def dword(i: Int): Bits =
      Cat((0 until 4).reverse.map(k => bytes(8 * (EthernetBytes + 4 * i + k), 8 bits)))
  }
}
