// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.record

import spinal.core._
import spinal.lib._

import lanebox.capture.vocabulary.CaptureParam
import lanebox.vocabulary.{Frames, HardBlock, Numbers}

/** Lays a pcapng block out: header, data, and the tail of options, zeros and length.
  *
  * The tail has at most seven dwords, so it lies in one beat, or in two beats that use different
  * lanes. So each lane has one dword of the tail at most.
  */
case class BlockExpander(queueWidth: Int = 0) extends Component {
  val io = new Bundle {
    val block  = slave(Stream(Block(queueWidth)))
    val layout = master(Stream(Layout()))
  }

  /** The parts of one pcapng block, of which RecordBuilder makes beats of 32 bytes. */
  case class Layout() extends Bundle {
    // The block is written to the staging memory. False if a frame's data is only dropped.
    val writes = Bool()
    val packet = Bool()
    val queue  = UInt(queueWidth bits)
    val header = Vec(Bits(32 bits), RecordSizer.HeaderDwords)
    // RecordBuilder takes a frame's data from the frame queue, to write it or to drop it.
    val takes   = Bool()
    val sealing = Bool()
    val inside  = Bits(32 bits) // Dword 7 of a block without frame data (a seal or a filler).
    val body = UInt(Frames.LengthWidth - 4 bits) // Number of beats of frame data: 1 to 512.
    // Bit i: byte i of the frame's last beat of data belongs to the frame, and is not padding.
    val mask = Bits(HardBlock.DataWidth / 8 bits)
    // The block's tail: the dwords behind the data (options, padding and the block's length), each
    // in the 32-bit lane in which it is written. The tail of a seal is its dwords 8 to 15.
    val tail               = Vec(Bits(32 bits), HardBlock.Dwords)
    val tailBeat, lastBeat = UInt(CaptureParam.BlockWidth - 2 bits)
    val single             = Bool()       // The block has one beat.
    val shortData          = Bool()       // The frame has a single beat of data.
    val tailFirst          = Bool()
    val tailLane           = UInt(log2Up(HardBlock.Dwords) bits)
    val units              = UInt(3 bits) // Units of 8 bytes in the block's last beat: 1 to 4.
  }

  val block  = io.block.payload
  val layout = Layout()

  val isRecord                   = block.kind === Block.Kind.packet
  val isSeal                     = block.kind === Block.Kind.seal
  val dwords                     = block.units @@ U(0, 1 bit)
  val bytes                      = (dwords @@ U(0, 2 bits)).asBits.resize(32)
  def dword(value: BigInt): Bits = B(value, 32 bits)

  layout.writes := block.kind =/= Block.Kind.lost
  layout.packet := isRecord
  layout.queue  := block.queue
  layout.takes  := isRecord || !layout.writes
  layout.units := (block.units(1 downto 0) === 0) ? U(4, 3 bits) | block.units(1 downto 0).resize(3)

  val header = new Area {
    val head = block.head
    val record = Seq(
      dword(BlockExpander.Record),
      bytes,
      head.port.asBits.resize(32),
      head.time(63 downto 32).asBits,
      head.time(31 downto 0).asBits,
      head.kept.asBits.resize(32),
      head.original.asBits.resize(32)
    )
    // The fields of a seal in the order of Numbers.CaptureSeal, which has their byte offsets.
    val fields = Seq(
      dword(Numbers.CaptureSealMagic),
      block.queue.resize(16).asBits,
      block.seal.reason.asBits.resize(16),
      block.seal.number.asBits,
      block.seal.time.asBits,
      block.seal.records.asBits,
      block.seal.bytes.asBits,
      block.seal.lostRing.asBits,
      block.seal.lostNoCell.asBits
    )
    val whole = Bits(32 * RecordSizer.HeaderDwords + HardBlock.DataWidth bits)
    whole             := 0
    whole(0, 64 bits) := bytes ## dword(BlockExpander.Seal)
    for ((place, field) <- Numbers.CaptureSeal.zip(fields))
      whole(8 * place, field.getWidth bits) := field
    val seal   = whole.subdivideIn(32 bits)
    val filler = Seq(dword(BlockExpander.Filler), bytes) ++ Seq.fill(5)(dword(0))
    for (i <- 0 until RecordSizer.HeaderDwords)
      layout.header(i) := isRecord ? record(i) | (isSeal ? seal(i) | filler(i))
    val behind = (0 until HardBlock.Dwords).map { lane =>
      if (lane < HardBlock.Dwords - 1) seal(HardBlock.Dwords + lane).andMask(isSeal) else dword(0)
    }
    layout.sealing := isSeal
    layout.inside  := isSeal ? whole(32 * RecordSizer.HeaderDwords, 32 bits) | B(0, 32 bits)
  }

  val data = new Area {
    val rest = block.head.kept(4 downto 0)
    layout.body      := ((block.head.kept +^ (Frames.BeatBytes - 1)) >> 5).resized
    layout.shortData := block.head.kept <= Frames.BeatBytes
    for (i <- 0 until Frames.BeatBytes) layout.mask(i) := !layout.takes || rest === 0 || rest > i
  }

  val tail = new Area {
    val begin = UInt(CaptureParam.BlockWidth + 1 bits)
    begin := dwords - 1
    when(isRecord) { begin := (block.dwords + RecordSizer.HeaderDwords).resized }
    when(isSeal) { begin := HardBlock.Dwords }
    layout.tailBeat  := begin >> 3
    layout.tailLane  := begin(2 downto 0)
    layout.tailFirst := begin < HardBlock.Dwords
    // RecordBuilder takes one cycle for each beat of data of a frame that it drops.
    layout.lastBeat := layout.writes ? ((block.units - 1) >> 2) | (layout.body - 1).resized
    layout.single   := layout.writes ? (block.units <= CaptureParam.BeatUnits) | layout.shortData

    // The last dword of a block repeats the block's length. `end` is the index of that dword in the
    // tail, the dwords behind the data: 0 to 6.
    val end      = (dwords - 1 - begin).resize(3)
    val flagged  = isRecord && block.flagged
    val counting = isRecord && block.counting
    // Each lane is told which of the few values it gets. To rotate the values would take more.
    for (lane <- 0 until HardBlock.Dwords) {
      val index     = U(lane, 3 bits) - begin(2 downto 0)
      val inCount   = index - (flagged ? U(2, 3 bits) | U(0, 3 bits))
      val sealEnds  = Bool(lane == HardBlock.Dwords - 1) && !block.units(0)
      val isEnd     = isSeal ? sealEnds | index === end
      val isFlags   = flagged && index === 1
      val isDrops   = counting && inCount === 1
      val flagsCode = flagged && index === 0
      val dropsCode = counting && inCount === 0
      layout.tail(lane) := bytes.andMask(isEnd) | block.head.flags.andMask(isFlags) |
        block.drops.asBits.andMask(isDrops) | dword(BlockExpander.FlagsOption).andMask(flagsCode) |
        dword(BlockExpander.DropsOption).andMask(dropsCode) | header.behind(lane)
    }
  }
  io.layout << io.block.translateWith(layout)
}

object BlockExpander {
  val Record = BigInt(Numbers.PcapngRecord)
  val Seal   = BigInt(Numbers.PcapngSeal)
  val Filler = BigInt(Numbers.PcapngFiller)

  /** The first dword of a pcapng option: its code in the lower 16 bits, its bytes in the upper. */
  val FlagsOption = 4 << 16 | Numbers.PcapngFlags
  val DropsOption = 8 << 16 | Numbers.PcapngDropped
}
