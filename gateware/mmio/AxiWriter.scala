// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.mmio

import spinal.core._
import spinal.lib._
import spinal.lib.bus.amba4.axi.{Axi4Aw, Axi4B, Axi4W}

import lanebox.vocabulary.HardBlock

/** Carries out the host's writes on AXI. Each write is one burst, over the rows of 32 bytes that it
  * touches.
  *
  * Responses are counted, not matched with their bursts. All bursts use one ID until a response
  * fails to come in time. Then all responses that are due are given up, and later bursts use the
  * next ID. Responses with another ID than the present one are ignored.
  */
case class AxiWriter(p: MmioParam) extends Component {
  val config = AxiTarget.config(p.axiAddressWidth)
  val most   = 32 // The most bursts that may wait for their response.

  val io = new Bundle {
    val write      = slave(Flow(TargetWrite()))
    val writesLeft = out UInt (log2Up(AxiTarget.WriteBeats + 1) bits)
    val aw         = master(Stream(Axi4Aw(config)))
    val w          = master(Stream(Axi4W(config)))
    val b          = slave(Stream(Axi4B(config)))
    val done       = out UInt (log2Up(most + 1) bits) // Number of bursts that ended in this cycle.
    val error      = master(Flow(MmioError()))
    val busy       = out Bool ()
  }

  case class Start() extends Bundle {
    val address = UInt(30 bits)
    val rows    = UInt(6 bits)
  }
  case class Data() extends Bundle {
    val data   = Bits(HardBlock.DataWidth bits)
    val mask   = Bits(HardBlock.DataWidth / 8 bits)
    val shift  = UInt(3 bits)
    val first  = Bool()
    val last   = Bool()
    val spills = Bool()
  }

  val starts   = StreamFifo(Start(), AxiTarget.WriteBeats, latency = 1)
  val newStart = Start()
  newStart.assignSomeByName(io.write.payload)
  starts.io.push << io.write.takeWhen(io.write.first).toStream.translateWith(newStart)

  val beats   = StreamFifo(Data(), AxiTarget.WriteBeats, latency = 1)
  val newBeat = Data()
  newBeat.assignSomeByName(io.write.payload)
  newBeat.shift := io.write.address(2 downto 0)
  beats.io.push << io.write.toStream.translateWith(newBeat)
  io.writesLeft := beats.io.occupancy.resized

  val epoch = Reg(UInt(AxiTarget.EpochBits bits)) init 0
  val due   = Reg(UInt(log2Up(most + 1) bits)) init 0

  // A response has not come in time, so all responses that are due are given up.
  val giveUp = RegInit(False)
  // The addresses of the bursts that wait for their response, for error reports.
  val issued = StreamFifo(UInt(30 bits), most, latency = 1)

  val address = new Area {
    val mayStart = !due.msb && !giveUp
    val start    = starts.io.pop.continueWhen(mayStart)
    val aw       = Stream(Axi4Aw(config))
    aw.arbitrationFrom(start)
    aw.id   := epoch.resized
    aw.addr := (start.address @@ U"00").resized
    aw.len  := (start.rows - 1).resized
    aw.size := log2Up(MmioParam.RowBytes)
    aw.setBurstINCR()
    io.aw << aw.m2sPipe()
  }

  // Beats come with each dword in its lane, so a beat's lanes below `shift` belong to the next row
  // of 32 bytes. These lanes are carried over to the next beat on the bus.
  val data = new Area {
    // The number of bursts whose address was issued and whose data has not begun.
    val allowed = Reg(UInt(log2Up(2 * most) bits)) init 0
    val carried = Reg(Data())
    val flush   = RegInit(False)
    val beat    = beats.io.pop
    val below   = (0 until HardBlock.Dwords).map(lane => beat.shift > lane)

    val begin = RegInit(False) // High when `allowed` is not 0, from a register.
    val may   = !flush && (!beat.first || begin)

    val w = Stream(Axi4W(config))
    // No stream operator fits: after a timeout, beats without data end the burst.
    w.valid    := flush || (beat.valid && may)
    beat.ready := w.ready && may
    w.last     := flush || (beat.last && !beat.spills)
    for (lane <- 0 until HardBlock.Dwords) {
      val old = flush || below(lane)
      w.data(32 * lane, 32 bits) := (old ? carried.data(32 * lane, 32 bits) |
        beat.data(32 * lane, 32 bits))
      w.strb(4 * lane, 4 bits) := (old ? carried.mask(4 * lane, 4 bits) |
        beat.mask(4 * lane, 4 bits)).andMask(!old || flush || !beat.first)
    }
    when(w.fire) {
      flush   := !flush && beat.last && beat.spills
      carried := beat.payload
      // Only the beat's dwords that belong to the next row are carried over.
      for (lane <- 0 until HardBlock.Dwords) when(!below(lane)) {
        carried.mask(4 * lane, 4 bits) := 0
      }
    }
    val begins = beat.fire && beat.first
    allowed := allowed + address.start.fire.asUInt - begins.asUInt
    begin   := address.start.fire || allowed > 1 || (allowed === 1 && !begins)
    io.w << w.m2sPipe()
  }

  val response = new Area {
    val b      = io.b.toFlow
    val mine   = b.valid && b.id === epoch.resized && due =/= 0
    val waited = Reg(UInt(log2Up(p.timeout) bits))
    giveUp := waited === p.timeout - 2 && !mine && due =/= 0
    waited := waited + 1
    when(mine || due === 0 || giveUp) { waited := 0 }
    val ended = giveUp ? due | mine.asUInt.resized
    due := due + address.start.fire.asUInt - ended
    when(giveUp) { epoch := epoch + 1 }
    io.done := ended

    val begun = address.start.toFlowFire
    issued.io.push << begun.translateWith(begun.address).toStream
    // `mine` is the cycle in which the answer of the oldest burst comes.
    issued.io.pop.ready := mine
    issued.io.flush     := giveUp

    // Flow.m2sPipe is not used: it would make a register of the constant field `write`, too.
    val report = new Area {
      val valid   = RegNext(giveUp || (mine && b.resp(1))) init False
      val kind    = RegNext(giveUp ? MmioErrorKind.timeout | MmioErrorKind.busError)
      val count   = RegNext(giveUp ? due | U(1))
      val address = RegNext(issued.io.pop.payload @@ U"00")
    }
    io.error.valid   := report.valid
    io.error.kind    := report.kind
    io.error.count   := report.count
    io.error.write   := True
    io.error.address := report.address
  }

  val busy = RegNext(due =/= 0 || beats.io.pop.valid || data.flush) init False
  io.busy := busy
}
