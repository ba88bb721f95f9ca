// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.generator

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.{EtherType, Frames, HardBlock}

/** Makes frames without a host: of one size or in a mix of three, at a rate of their own, with data
  * that can be computed again.
  *
  * Frame n, from 0 on, has 16 bytes of Ethernet header, n and the seed as 32 bits each, and then
  * the pattern. A beat of the pattern repeats a word of 32 bits, rotated left by 4 i bits in dword
  * i. The word of a frame's first beat is seed xor n. The word of each further beat is xorshift(13,
  * 17, 5) of the word before. A frame of less than 24 bytes ends inside the headers. Only the
  * Ethernet header is big endian.
  *
  * `period` is the time from the start of a frame to the start of the next, in 1/256 of a cycle. A
  * frame that could not begin in time begins as soon as it can. The generator catches up with a
  * delay of up to 1024 cycles. It makes `count` frames, or frames without end if `count` is 0.
  * Frame n comes from port n & `portMask`.
  *
  * With `mix` the frames have three sizes, in an order that repeats every 12 frames: 7 frames of
  * `small`, 4 of `middle` and 1 of `large`. Each size has its own period. Without `mix` all frames
  * are those of `small`.
  */
case class Generator() extends Component {
  setDefinitionName("Generator")
  val io = new Bundle {
    // When `run` rises, the generator starts at frame 0. After `run` has fallen, the present frame
    // is the last one.
    val run      = in Bool ()
    val mix      = in Bool ()
    val small    = in(Generator.Kind())
    val middle   = in(Generator.Kind())
    val large    = in(Generator.Kind())
    val count    = in UInt (32 bits)
    val seed     = in Bits (32 bits)
    val portMask = in UInt (Frames.PortWidth bits)
    val now      = in UInt (64 bits)
    val frames   = master(Frames())
    val made     = out UInt (32 bits)
    val idle     = out Bool ()
  }
  noIoPrefix()
  val number = Reg(UInt(32 bits)) init 0
  val ran    = RegNext(io.run) init False
  val done   = RegNext(io.count =/= 0 && number === io.count) init False

  /** Chooses size and period of the next frame. They are right from the second cycle after the last
    * beat of the frame before, which is the first cycle in which a frame can begin.
    */
  val kind = new Area {
    val step     = Reg(UInt(log2Up(Generator.Steps) bits)) init 0
    val isMiddle = Generator.Middle.map(step === _).orR && io.mix
    val isLarge  = step === Generator.Large && io.mix
    val chosen   = isLarge ? io.large | (isMiddle ? io.middle | io.small)
    val next     = RegNext(chosen)
    // Beats of the next frame that come after its first beat.
    val more  = RegNext((chosen.size - 1) >> 5)
    val steps = False
    when(steps) { step := (step === Generator.Steps - 1) ? U(0) | step + 1 }
  }

  val pace = new Area {
    // Time since the start of the latest frame, plus its delay, in 1/256 of a cycle.
    val owed = Reg(UInt(25 bits)) init 0
    // Time from the start of the latest frame to that of the next one: the latest frame's period.
    val period = Reg(UInt(24 bits))
    val most   = RegNext(period +^ U(1024 << 8, 24 bits))
    val due    = RegNext(owed >= period) init False
    val takes  = False
    when(owed < most) { owed := owed + 256 }
    when(takes) {
      owed   := owed + 256 - period
      period := kind.next.period
    }
    when(!io.run) {
      owed   := 0
      period := kind.next.period
    }
  }

  val inFrame = RegInit(False)
  // Beats of the frame that come after the present beat.
  val left = Reg(UInt(Frames.LengthWidth - 5 bits)) init 0
  val word = Reg(Bits(32 bits))
  // `due` and `done` are a cycle late, so `rests` keeps one cycle empty between two frames.
  val rests  = RegInit(False)
  val begins = !inFrame && !rests && io.run && ran && pace.due && !done

  val beat  = Frames()
  val first = !inFrame
  val value = first ? (io.seed ^ number.asBits) | word
  val last  = first ? (kind.more === 0) | left === 0
  // No stream operator fits: Generator makes the beats itself, and not of another stream.
  beat.valid := inFrame || begins
  beat.last  := last
  for (i <- 0 until HardBlock.Dwords) beat.data(32 * i, 32 bits) := value.rotateLeft(4 * i)
  val header = Seq(
    B(0x00000002, 32 bits),
    B(0x00020100, 32 bits),
    beat.head.port.asBits.resize(8) ## B(0, 24 bits),
    EndiannessSwap(B(EtherType.Local, 16 bits)).resize(32),
    number.asBits,
    io.seed
  )
  when(first) {
    for ((dword, i) <- header.zipWithIndex) beat.data(32 * i, 32 bits) := dword
  }
  beat.bytes         := kind.next.size.resized
  beat.error         := False
  beat.head.time     := io.now
  beat.head.kept     := kind.next.size
  beat.head.original := kind.next.size.resized
  beat.head.port     := number.resize(Frames.PortWidth) & io.portMask
  beat.head.flags    := 0

  rests := False
  when(beat.fire) {
    val a = value ^ (value |<< 13)
    val b = a ^ (a |>> 17)
    word    := b ^ (b |<< 5)
    left    := first ? (kind.more - 1) | left - 1
    inFrame := !last
    when(first) { pace.takes := True }
    when(last) {
      number     := number + 1
      kind.steps := True
      rests      := True
    }
  }
  when(!ran && !inFrame) {
    number    := 0
    kind.step := 0
  }
  io.frames << beat.m2sPipe()
  io.made := number
  io.idle := !inFrame && !io.frames.valid
}

object Generator {

  /** Frames of the mix after which it repeats, and the places in it of the middle and the large
    * frames. All other frames of the mix are small.
    */
  val Steps  = 12
  val Middle = Seq(1, 4, 8, 11)
  val Large  = 6

  /** Size and period of the frames of one kind. */
  case class Kind() extends Bundle {
    val size   = UInt(Frames.LengthWidth bits) // Bytes of a frame: 1 or more.
    val period = UInt(24 bits)
  }
}
