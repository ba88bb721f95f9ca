// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** Delivers reads: to each client in its order, one beat per cycle for all clients together.
  *
  * Clients that can take data share the memory in turn, beat by beat. A beat is read for a client
  * only if its FIFO has room, so a client that does not take its data holds up no other.
  */
case class ReadDelivery(p: ReturnParam) extends Component {
  val io = new Bundle {
    val clear     = slave(Flow(UInt(p.orderWidth bits))) // After reset: no read has ended.
    val awaited   = slave(Flow(AwaitedRead()))
    val client    = in UInt (p.clientWidth bits)         // The client of `awaited`.
    val finished  = slave(Flow(FinishedRead(p)))
    val ends      = in Vec (RingEnd(p), p.clients)
    val room      = out Vec (Bool(), p.clients)
    val read      = master(Flow(LandingRead(p)))
    val data      = in Bits (HardBlock.DataWidth bits)   // Two cycles after `read`.
    val returns   = Vec(master(Stream(Fragment(ReadData()))), p.clients)
    val delivered = out Vec (Bool(), p.clients)
    val idle      = out Bool ()
  }
  val Depth = 32 // Beats of a client's FIFO: the smallest LUTRAM has as many rows.

  val readers = for (client <- 0 until p.clients) yield {
    val reader = RingReader(p)
    reader.io.clear << io.clear
    reader.io.awaited << io.awaited.takeWhen(io.client === client)
    reader.io.finished << io.finished.takeWhen(io.finished.client === client)
    reader.io.end   := io.ends(client)
    io.room(client) := reader.io.room
    reader
  }
  val mayRead = Vec(Bool(), p.clients)
  val arbiter = StreamArbiterFactory().roundRobin.noLock.build(RingBeat(p), p.clients)
  for (client <- 0 until p.clients)
    arbiter.io.inputs(client) << readers(client).io.beat.continueWhen(mayRead(client))

  /** Cycle 1: the beat that is read. */
  val fetch = new Area {
    val beat   = arbiter.io.output.toFlow.stage()
    val client = RegNext(arbiter.io.chosen)
  }
  io.read.valid  := fetch.beat.valid
  io.read.client := fetch.client.resized
  io.read.row    := fetch.beat.row
  io.read.show   := fetch.beat.show

  /** Cycle 3: the data is there. */
  val arrival = new Area {
    val valid  = Delay(fetch.beat.valid, 2, init = False)
    val client = Delay(fetch.client, 2)
    val beat   = Fragment(ReadData())
    beat.last    := Delay(fetch.beat.lastOfRequest, 2)
    beat.data    := io.data
    beat.dwords  := Delay(fetch.beat.dwords, 2)
    beat.context := Delay(fetch.beat.context, 2)
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

      // Beats in the FIFO or on their way to it.
      val promised = Reg(UInt(log2Up(Depth + 1) bits)) init 0
      promised        := promised + arbiter.io.inputs(client).fire.asUInt - fifo.io.pop.fire.asUInt
      mayRead(client) := !promised.msb
      val idle = promised === 0 && !pop.valid
    }
  io.idle := readers.map(_.io.idle).andR && outputs.map(_.idle).andR
}
