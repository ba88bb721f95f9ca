// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rc

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.{HardBlock, ReadError}

/** Writes the payload of completions to the landing memory, eight dwords at a time.
  *
  * A completion's beats are rotated so that each dword is in the lane in which it is stored. A
  * write takes the next eight dwords of the payload. Dwords of a beat that are left over are held
  * until the next beat brings the rest of eight. So a completion of n dwords takes n / 8 writes,
  * rounded up, and the write port keeps up with beats that hold parts of two completions.
  */
case class CompletionLander(p: ReturnParam) extends Component {
  import CompletionLander._
  val io = new Bundle {
    val step = slave(Flow(RcUnpacker.Step()))
    // ReadTable answers each step that begins a completion: with `landing` two cycles later, and
    // with `verdict` three cycles later.
    val landing = slave(Flow(ReadTable.Landing(p)))
    val verdict = slave(Flow(ReadTable.Verdict(p)))
    val write   = master(Flow(LandingMemory.Write(p)))
    val end     = master(Flow(End(p)))
  }
  val Dwords = HardBlock.Dwords

  val turner = new Area {
    val step = {
      val first = io.step.stage()
      first.stage()
    }
    val begins = step.valid && (step.first || step.head)

    // `turn` computes by how many lanes a completion's beats are rotated. The descriptor has three
    // dwords, so payload starts in lane 3 of the beat, or in lane 7 if the completion began at lane
    // 4 (`high`).
    def turn(high: Bool): UInt =
      io.landing.dword(2 downto 0) + (high ? U(1, 3 bits) | U(5, 3 bits))
    val later = Reg(UInt(3 bits))
    when(begins) { later := turn(step.high || step.head) }
    val by    = step.first ? turn(step.high) | later
    val lanes = step.data.rotateLeft(by @@ U(0, 5 bits))
    // `dwords` counts the payload dwords in this step, including those held from the step before.
    val lane   = step.lane.resize(4 bits)
    val dwords = Mux(step.first, lane - (step.high ? U(6) | U(2)), lane + (step.high ? U(2) | U(6)))
  }

  val step   = turner.step.stage()
  val turned = RegNext(turner.lanes)
  val dwords = RegNext(turner.dwords)

  /** The completion that is landing, from its first step until its held dwords are written. */
  val current = new Area {
    val verdict = Reg(ReadTable.Verdict(p))
    val high    = Reg(Bool())
    val row     = Reg(UInt(p.rowWidth bits))
    val left    = Reg(UInt(8 bits)) // Dwords of the completion that are not written yet.
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
  // If a completion begins at lane 4, behind the end of another one, the beat holds one dword of
  // its payload. That dword is copied to every lane, so it is also in the lane in which it is
  // stored.
  val head = RegNext(turner.step.data(32 * (Dwords - 1), 32 bits))
  when(step.valid) { held := step.head ? Vec.fill(Dwords)(head).asBits | turned }

  val write = Flow(LandingMemory.Write(p))
  write.valid  := (writes || rest) && current.verdict.lands
  write.client := current.verdict.client
  write.row    := current.row
  for (lane <- 0 until Dwords) {
    val place = U(lane, 3 bits) - current.verdict.dword(2 downto 0)
    val waits = rest || place < (current.high ? U(1) | U(5))
    write.wraps(lane)              := U(lane, 3 bits) < current.verdict.dword(2 downto 0)
    write.enable(lane)             := current.left >= Dwords || place < current.left(2 downto 0)
    write.data(32 * lane, 32 bits) := (waits ? held | turned)(32 * lane, 32 bits)
  }
  io.write << write.m2sPipe()

  // If ReadTable found an error in the completion's header, that error is reported. If it found
  // none, the completion fails if its payload is not as long as its header says, or if the hard
  // block cut the completion short.
  val due     = step.first ? io.verdict.dwords | current.left
  val cut     = step.cut || !step.first && current.cut
  val probed  = io.verdict.valid && io.verdict.probe
  val decided = probed ? io.verdict.payload | ofStep
  val end     = Flow(End(p))
  end.valid := step.valid && step.last || probed
  end.payload.assignSomeByName(decided)
  when(!probed && decided.error === ReadError.none) {
    when(due =/= dwords.resized) { end.error := ReadError.malformed }
    when(cut) { end.error := ReadError.cut }
  }
  io.end << end.m2sPipe()
}

object CompletionLander {

  /** Reports a completion that has landed or was dropped, or a probe of a tag for a timeout. */
  case class End(p: ReturnParam) extends Bundle {
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
}
