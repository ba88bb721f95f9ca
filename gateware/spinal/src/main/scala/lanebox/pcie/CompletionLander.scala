// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** The end of a completion, or of what the clock ended. */
case class CompletionEnd(p: ReturnParam) extends Bundle {
  val tag        = UInt(p.tagWidth bits)
  val generation = Bool()
  val client     = UInt(p.clientWidth bits)
  val order      = UInt(p.orderWidth + 1 bits)
  val waited     = Bool()
  val error      = ReadError()
  val finish     = Bool()
  val free       = Bool()
  val suspect    = Bool()
}

/** Puts the payload of completions into the landing memory.
  *
  * A completion's beats are turned so that each dword is in the lane where it lands. What is left
  * of a beat waits for the next, whose lanes it fills up: so a completion of n dwords takes n / 8
  * writes, rounded up, and the write port keeps up with straddled beats.
  */
case class CompletionLander(p: ReturnParam) extends Component {
  val io = new Bundle {
    val step    = slave(Flow(RcStep()))
    val landing = slave(Flow(Landing(p))) // Two cycles behind its step,
    val verdict = slave(Flow(Verdict(p))) // three.
    val write   = master(Flow(LandingWrite(p)))
    val end     = master(Flow(CompletionEnd(p)))
  }
  val Dwords = HardBlock.Dwords

  /** Turns the lanes of a beat to those in which its dwords land. */
  val turner = new Area {
    val step = {
      val first = io.step.stage()
      first.stage()
    }
    val begins = step.valid && (step.first || step.head)

    // From lane 3, or 7, of the beat to the landing's lane.
    def turn(high: Bool): UInt =
      io.landing.dword(2 downto 0) + (high ? U(1, 3 bits) | U(5, 3 bits))
    val later = Reg(UInt(3 bits))
    when(begins) { later := turn(step.high || step.head) }
    val by    = step.first ? turn(step.high) | later
    val lanes = step.data.rotateLeft(by @@ U(0, 5 bits))
    // Payload dwords in this step with what waited for it: what the header must have said.
    val lane   = step.lane.resize(4 bits)
    val dwords = Mux(step.first, lane - (step.high ? U(6) | U(2)), lane + (step.high ? U(2) | U(6)))
  }

  val step   = turner.step.stage()
  val turned = RegNext(turner.lanes)
  val dwords = RegNext(turner.dwords)

  /** The completion that steps are of, from its first to the rest behind its last. */
  val current = new Area {
    val verdict = Reg(Verdict(p))
    val high    = Reg(Bool())
    val row     = Reg(UInt(p.rowWidth bits))
    val left    = Reg(UInt(8 bits)) // Dwords to write.
    val cut     = Reg(Bool())
  }
  val ofStep = step.first ? io.verdict.payload | current.verdict
  val writes = step.valid && !step.first
  val rest   = RegNext(step.valid && step.leavesRest) init False

  when(writes) {
    current.row  := current.row + 1
    current.left := (current.left < Dwords) ? U(0) | current.left - Dwords
  }
  when(step.valid) { current.cut := !step.first && current.cut || step.cut }
  when(step.valid && (step.first || step.head)) {
    current.verdict := io.verdict.payload
    current.high    := step.high || step.head
    current.row     := io.verdict.dword >> 3
    current.left    := io.verdict.dwords
  }

  val held = Reg(Bits(HardBlock.DataWidth bits))
  // Of a head there is one dword: in every lane, so also in the right one.
  val head = RegNext(turner.step.data(32 * (Dwords - 1), 32 bits))
  when(step.valid) { held := step.head ? Vec.fill(Dwords)(head).asBits | turned }

  val write = LandingWrite(p)
  write.client := current.verdict.client
  write.row    := current.row
  for (lane <- 0 until Dwords) {
    val place = U(lane, 3 bits) - current.verdict.dword(2 downto 0)
    val waits = rest || place < (current.high ? U(1) | U(5))
    write.wraps(lane)              := U(lane, 3 bits) < current.verdict.dword(2 downto 0)
    write.enable(lane)             := current.left >= Dwords || place < current.left(2 downto 0)
    write.data(32 * lane, 32 bits) := (waits ? held | turned)(32 * lane, 32 bits)
  }
  io.write.valid   := RegNext((writes || rest) && current.verdict.lands) init False
  io.write.payload := RegNext(write)

  // The header decides first; then what came behind it must be as long as it said, and whole.
  val due     = step.first ? io.verdict.dwords | current.left
  val cut     = step.cut || !step.first && current.cut
  val probed  = io.verdict.valid && io.verdict.probe
  val decided = probed ? io.verdict.payload | ofStep
  val end     = CompletionEnd(p)
  end.assignSomeByName(decided)
  when(!probed && decided.error === ReadError.none) {
    when(due =/= dwords.resized) { end.error := ReadError.malformed }
    when(cut) { end.error := ReadError.cut }
  }
  io.end.valid   := RegNext(step.valid && step.last || probed) init False
  io.end.payload := RegNext(end)
}
