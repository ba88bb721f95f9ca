// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.queues

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.{EtherType, Frames}

/** Gathers the first 128 bytes of each frame, in which the parser looks for headers.
  *
  * HeaderWindow copies beats that go to another stage. A beat may come only while `ready` is high.
  * `ready` is low while the window of an earlier frame has not been taken.
  */
case class HeaderWindow() extends Component {
  val io = new Bundle {
    val beat   = slave(Flow(Fragment(Frames.Beat()))) // Valid only while `ready` is high.
    val ready  = out Bool ()
    val window = master(Stream(HeaderWindow.Headers()))
  }
  import HeaderWindow._

  val beats = Reg(Vec(Bits(8 * Frames.BeatBytes bits), Beats))
  val head  = Reg(Facts())
  val full  = RegInit(False)
  val at    = Reg(UInt(log2Up(Beats + 1) bits)) init 0 // Beats of the present frame; at most 4.

  val isKept = at < Beats
  io.ready := !full || io.window.ready
  when(io.window.ready) { full := False }
  when(io.beat.valid) {
    when(isKept) {
      beats(at.resized) := io.beat.data
      full              := io.beat.last || at === Beats - 1
      at                := at + 1
    }
    when(at === 0) {
      head.port   := io.beat.head.port
      head.length := io.beat.head.original
      head.bytes  := io.beat.head.kept
    }
    when(io.beat.last) { at := 0 }
  }

  // No stream operator fits: up to four beats become one window.
  io.window.valid := full
  io.window.bytes := beats.asBits
  io.window.facts := head

  /** Finds the VLAN tags. They and the EtherType are in the frame's first beat. */
  val tags = new Area {
    def half(at: Int): Bits     = beats(0)(8 * at, 8 bits) ## beats(0)(8 * at + 8, 8 bits)
    def isTag(kind: Bits): Bool = EtherType.Tags.map(kind === _).orR
    def holds(bytes: Int): Bool = head.bytes >= bytes
    val one                     = isTag(half(12)) && holds(18)
    val two                     = one && isTag(half(16)) && holds(22)
    io.window.tags      := one.asUInt + two.asUInt.resize(2)
    io.window.vlan      := one ? half(14).resize(12) | B(0, 12 bits)
    io.window.etherType := two ? half(20) | (one ? half(16) | half(12))
    when(!holds(14)) { io.window.etherType := 0 }
  }

  // The window's dwords begin with byte 14, behind an Ethernet header without tags.
  val most = U((Beats * Frames.BeatBytes - EthernetBytes) / 4, DwordWidth bits)
  val rest = (head.bytes - EthernetBytes) >> 2
  io.window.dwords := (head.bytes < EthernetBytes) ? U(0, DwordWidth bits) |
    ((rest > most) ? most | rest.resize(DwordWidth))
}

object HeaderWindow {
  val Beats         = 4
  val EthernetBytes = 14
  val Dwords        = (Beats * Frames.BeatBytes - EthernetBytes) / 4
  val DwordWidth    = log2Up(Dwords + 1)

  /** The facts about a frame that come from its source, and that rules compare. */
  case class Facts() extends Bundle {
    val port   = UInt(Frames.PortWidth bits)
    val length = UInt(16 bits)
    val bytes  = UInt(Frames.LengthWidth bits) // Bytes of the frame that its beats carry.
  }

  /** The first 128 bytes of a frame. Bytes beyond the end of a shorter frame have any value. */
  case class Headers() extends Bundle {
    val bytes     = Bits(8 * Beats * Frames.BeatBytes bits)
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
