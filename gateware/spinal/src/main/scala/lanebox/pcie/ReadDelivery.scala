// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** Delivers slots: to each client in its order, and a beat per cycle to all of them together.
  *
  * Clients that can take data share the memory by turns, beat by beat. Beats are read for a client
  * only when its FIFO has room for them, so that one that does not take its data holds up nobody.
  */
case class ReadDelivery(p: ReturnParam) extends Component {
  val io = new Bundle {
    val closed    = slave(Flow(ClosedSlot(p)))
    val facts     = in(RequestFacts())                 // With closed
    val client    = in UInt (p.clientWidth bits)       // and of this client.
    val slots     = out Vec (UInt(p.slotWidth bits), p.clients)
    val statuses  = in Vec (SlotStatus(), p.clients)
    val read      = master(Flow(LandingRead(p)))
    val data      = in Bits (HardBlock.DataWidth bits) // Two cycles behind read.
    val free      = master(Flow(FreeSlot(p)))
    val returns   = Vec(master(Stream(Fragment(ReadData()))), p.clients)
    val delivered = out Vec (Bool(), p.clients)
    val idle      = out Bool ()
  }
  val Depth = 32 // Of a client's FIFO: what the smallest memory for one holds.

  val facts = Mem(RequestFacts(), p.slots)
  facts.write(io.closed.slot, io.facts, io.closed.valid)

  val readers = for (client <- 0 until p.clients) yield {
    val reader = SlotReader(p)
    reader.io.closed.valid   := io.closed.valid && io.client === client
    reader.io.closed.payload := io.closed.payload
    io.slots(client)         := reader.io.slot
    reader.io.status         := io.statuses(client)
    reader
  }
  val room    = Vec(Bool(), p.clients)
  val arbiter = StreamArbiterFactory().roundRobin.noLock.build(SlotBeat(p), p.clients)
  for (client <- 0 until p.clients)
    arbiter.io.inputs(client) << readers(client).io.beat.continueWhen(room(client))

  /** Cycle 1: what is read. */
  val fetch = new Area {
    val beat   = arbiter.io.output.toFlow.stage()
    val client = RegNext(arbiter.io.chosen)
    val facts  = ReadDelivery.this.facts.readAsync(beat.slot)
  }
  io.read.valid  := fetch.beat.valid
  io.read.row    := fetch.beat.slot @@ fetch.beat.beat
  io.read.show   := fetch.beat.show
  io.free.valid  := fetch.beat.valid && fetch.beat.lastOfSlot
  io.free.slot   := fetch.beat.slot
  io.free.client := fetch.client.resized

  /** Cycle 3: the data is there. */
  val arrival = new Area {
    val valid  = Delay(fetch.beat.valid, 2, init = False)
    val client = Delay(fetch.client, 2)
    val beat   = Fragment(ReadData())
    beat.last    := Delay(fetch.beat.lastOfRequest, 2)
    beat.data    := io.data
    beat.dwords  := Delay(fetch.facts.dwords, 2)
    beat.context := Delay(fetch.facts.context, 2)
    beat.error   := Delay(fetch.beat.error, 2)
  }

  val outputs =
    for (client <- 0 until p.clients) yield new Area {
      val fifo = new StreamFifo(Fragment(ReadData()), Depth, withAsyncRead = true)
      fifo.io.push.valid   := arrival.valid && arrival.client === client
      fifo.io.push.payload := arrival.beat
      val pop = fifo.io.pop.m2sPipe()
      io.returns(client) << pop
      io.delivered(client) := RegNext(pop.fire && pop.last) init False

      val promised = Reg(UInt(log2Up(Depth + 1) bits)) init 0 // In the FIFO or on their way there.
      promised     := promised + arbiter.io.inputs(client).fire.asUInt - fifo.io.pop.fire.asUInt
      room(client) := !promised.msb
      val idle = promised === 0 && !pop.valid
    }
  io.idle := readers.map(_.io.idle).andR && outputs.map(_.idle).andR
}
