// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.player

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.{EventCounter, Frames, Numbers}

/** Reads pcapng blocks and finds the packets in them.
  *
  * The packet of an Enhanced Packet Block stands 28 bytes behind the begin of the block, so each
  * beat of data is one dword of the block's previous beat and seven dwords of the present one. A
  * packet's data leaves while its block comes. The packet's head leaves with the block's last beat,
  * and only if the block has broken no rule. So a head says that all data of its packet has left.
  *
  * Blocks of all other types are skipped and counted. A packet of no bytes is no frame: it is
  * counted in `empty`. A block that breaks a rule sets `error`. From then on no head leaves until
  * `clear`.
  */
case class PacketReader() extends Component {
  import PlayerParam.{BlockWidth, DataWidth, HeaderDwords}
  import PacketReader._

  val io = new Bundle {
    val clear     = in Bool ()
    val fixedPort = in Bool ()
    val port      = in UInt (Frames.PortWidth bits)
    val blocks    = slave(Flow(Fragment(BlockAligner.BlockBeat())))
    // The host failed to give the bytes of the stream.
    val failed = in Bool ()
    val heads  = master(Flow(Frames.Head()))
    val data   = master(Flow(Bits(DataWidth bits)))
    val error  = out(Error())
    // High from the cycle in which a rule was broken until `clear`.
    val stopped = out Bool ()
    // Blocks that broke no rule. Of these: blocks without a packet, and with a packet of no bytes.
    val passed, skipped, empty = out UInt (32 bits)
    val busy                   = out Bool ()
  }

  /** The first of two stages of PacketReader: compares the beat with the rules that a block must
    * keep.
    */
  val look = new Area {
    case class Look() extends Bundle {
      val beat     = BlockAligner.BlockBeat()
      val isPacket = Bool()
      // The rules that the beat breaks, in the order of `rules`.
      val broken = Bits(rules.size bits)
      val last   = Bool()
    }
    val in      = io.blocks.m2sPipe()
    val dwords  = in.data.subdivideIn(32 bits)
    val length  = dwords(1).asUInt
    val begun   = RegNextWhen(length, in.valid && in.opens)
    val header  = in.opens && dwords(0) === Packet
    val section = in.opens && dwords(0) === Section
    // Valid with a block's last beat: the length at the block's end differs from the one at its
    // beginning.
    val differs    = dwords(in.end).asUInt =/= (in.opens ? length | begun)
    val longPacket = (dwords(5) >> Frames.LengthWidth) =/= 0
    // Bytes of the block beside its header, its packet, and the length at its end.
    val spare = length.resize(BlockWidth).intoSInt -
      (dwords(5).asUInt.resize(Frames.LengthWidth) +^ PlayerParam.FrameBytes).intoSInt
    // If a beat breaks several rules, `error` names the one that comes first in this list.
    val rules = Seq(
      (in.opens && (length(1 downto 0) =/= 0 || length < LeastLength))   -> Error.length,
      (in.opens && (length >> BlockWidth) =/= 0)                         -> Error.long,
      (section && dwords(2) === ReversedMagic)                           -> Error.endian,
      (section && dwords(2) =/= Magic)                                   -> Error.section,
      (header && spare < 0 && !longPacket)                               -> Error.packet,
      (header && (longPacket || (dwords(6) >> 16) =/= 0))                -> Error.tooLarge,
      (header && !io.fixedPort && (dwords(2) >> Frames.PortWidth) =/= 0) -> Error.noPort,
      (in.last && differs)                                               -> Error.lengths
    )
    val now = Look()
    now.beat     := in.fragment
    now.isPacket := dwords(0) === Packet
    now.broken   := rules.map(_._1).asBits
    now.last     := in.last
    val out = in.translateWith(now).m2sPipe()
  }

  val beat   = look.out.beat
  val dwords = beat.data.subdivideIn(32 bits)

  /** Keeps the block's type and its packet's head: both come with the block's first beat only. */
  val block = new Area {
    val isPacket = Reg(Bool())
    val head     = Reg(Frames.Head())
    val fresh    = Frames.Head()
    fresh.time     := (dwords(3) ## dwords(4)).asUInt
    fresh.kept     := dwords(5).asUInt.resized
    fresh.original := dwords(6).asUInt.resized
    fresh.port     := io.fixedPort ? io.port | dwords(2).asUInt.resize(Frames.PortWidth)
    fresh.flags    := 0
    when(look.out.valid && beat.opens) {
      isPacket := look.out.isPacket
      head     := fresh
    }
  }

  val rules = new Area {
    val error   = Reg(Error()) init Error.none
    val stopped = error =/= Error.none
    val breaks  = look.out.valid && look.out.broken.orR
    val found   = Error()
    found := Error.none
    for (((_, number), i) <- look.rules.zipWithIndex.reverse)
      when(look.out.broken(i)) { found := number }
    when(!stopped) {
      when(breaks) { error := found }
      when(io.failed) { error := Error.stream }
    }
    when(io.clear) { error := Error.none }
    io.error   := error
    io.stopped := stopped || breaks
  }
  val right = look.out.valid && !rules.stopped && !rules.breaks && !io.clear
  val ends  = right && look.out.last

  val packet = new Area {
    val more =
      Reg(UInt(Frames.LengthWidth - 4 bits)) init 0 // The packet's beats still to come.
    val carry = RegNextWhen(dwords(HeaderDwords), right)
    when(right && beat.opens) {
      val beats = (block.fresh.kept +^ (Frames.BeatBytes - 1)) >> 5
      more := beats.resize(more.getWidth)
      when(!look.out.isPacket) { more := 0 }
    }
    val takes = right && !beat.opens && more =/= 0
    when(takes) { more := more - 1 }
    when(io.clear) { more := 0 }
    io.data.valid   := takes
    io.data.payload := beat.data.resize(DataWidth - 32 bits) ## carry
  }

  val isPacket = beat.opens ? look.out.isPacket | block.isPacket
  val isEmpty  = beat.opens || block.head.kept === 0
  io.heads.valid   := ends && isPacket && !isEmpty
  io.heads.payload := block.head

  val counts = new Area {
    val passed  = EventCounter(ends, io.clear)
    val skipped = EventCounter(ends && !isPacket, io.clear)
    val empty   = EventCounter(ends && isPacket && isEmpty, io.clear)
    io.passed  := passed.count
    io.skipped := skipped.count
    io.empty   := empty.count
  }
  io.busy := look.in.valid || look.out.valid
}

object PacketReader {
  val Packet        = Numbers.PcapngRecord
  val Section       = Numbers.PcapngSection
  val Magic         = Numbers.PcapngOrderMagic
  val ReversedMagic = java.lang.Integer.reverseBytes(Magic)
  val LeastLength   = 12 // Bytes of a block without content.

  /** The rules that a block may break. The numbers are those that software reads. */
  object Error extends SpinalEnum(binarySequential) {
    setName("PlayerError")
    val none     = newElement()
    val length   = newElement() // The length is below 12, or no multiple of 4.
    val lengths  = newElement() // The length at the block's end differs from the one at its begin.
    val long     = newElement() // The block has 16 MiB or more.
    val endian   = newElement() // The section is big endian.
    val section  = newElement() // The section's byte-order magic is neither valid value.
    val packet   = newElement() // The packet reaches beyond its block.
    val tooLarge = newElement() // The packet has 16 KiB or more, or had 64 KiB or more on the wire.
    val noPort   = newElement() // There is no port with the number of the interface.
    val stream   = newElement() // The host failed to give the bytes.
  }
}
