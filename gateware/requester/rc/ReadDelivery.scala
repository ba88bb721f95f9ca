// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rc

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.{HardBlock, ReadData}

/** Delivers the data of reads from the landing memory to the clients. Each client gets its data in
  * the order of its reads. All clients together get at most one beat per cycle.
  *
  * The clients that can take data use the landing memory in turn, beat by beat. A beat is read for
  * a client only if the client's FIFO has room, so a client that does not take its data holds up no
  * other client.
  */
case class ReadDelivery(p: ReturnParam) extends Component {
  val io = new Bundle {
    // After reset: clears the marks by which LandingReader knows ended reads, one in each cycle.
    val clear    = slave(Flow(UInt(p.orderWidth bits)))
    val awaited  = slave(Flow(ReadClaims.AwaitedRead()))
    val client   = in UInt (p.clientWidth bits)
    val finished = slave(Flow(ReadEnds.FinishedRead(p)))
    val ends     = in Vec (ReadClaims.RingEnd(p), p.clients)
    val room     = out Vec (Bool(), p.clients)
    val read     = master(Flow(LandingMemory.Read(p)))
    // The row that `read` addressed in the landing memory two cycles before.
    val data      = in Bits (HardBlock.DataWidth bits)
    val returns   = Vec(master(Stream(Fragment(ReadData()))), p.clients)
    val delivered = out Vec (Bool(), p.clients)
    val idle      = out Bool ()
  }
  val Depth = 32 // Beats that a client's FIFO holds. The smallest LUTRAM has 32 rows.

  val readers = for (client <- 0 until p.clients) yield {
    val reader = LandingReader(p)
    reader.io.clear << io.clear
    val awaited  = io.awaited.takeWhen(io.client === client)
    val finished = io.finished.takeWhen(io.finished.client === client)
    reader.io.awaited << awaited.setCompositeName(reader, "awaited")
    reader.io.finished << finished.setCompositeName(reader, "finished")
    reader.io.end   := io.ends(client)
    io.room(client) := reader.io.room
    reader
  }
  val mayRead = Vec(Bool(), p.clients)
  val arbiter = StreamArbiterFactory().roundRobin.noLock.build(LandingReader.Beat(p), p.clients)
  for (client <- 0 until p.clients)
    arbiter.io.inputs(client) << readers(client).io.beat.continueWhen(mayRead(client))

  /** Cycle 1 of a beat's delivery: the landing memory is addressed. */
  val fetch = new Area {
    val beat   = arbiter.io.output.toFlow.stage()
    val client = RegNext(arbiter.io.chosen)
  }
  val read = LandingMemory.Read(p)
  read.client := fetch.client.resized
  read.row    := fetch.beat.row
  read.show   := fetch.beat.show
  io.read << fetch.beat.translateWith(read)

  /** Cycle 3 of a beat's delivery: its data has come from the landing memory. */
  val arrival = new Area {
    val client = Delay(fetch.client, 2)
    val beat   = Flow(Fragment(ReadData()))
    beat.valid   := Delay(fetch.beat.valid, 2, init = False)
    beat.last    := Delay(fetch.beat.lastOfRequest, 2)
    beat.data    := io.data
    beat.dwords  := Delay(fetch.beat.dwords, 2)
    beat.context := Delay(fetch.beat.context, 2)
    beat.error   := Delay(fetch.beat.error, 2)
  }

  val outputs =
    for (client <- 0 until p.clients) yield new Area {
      val fifo = new StreamFifo(Fragment(ReadData()), Depth, withAsyncRead = true)
      val mine = arrival.beat.takeWhen(arrival.client === client)
      fifo.io.push << mine.toStream
      val pop = fifo.io.pop.m2sPipe()
      io.returns(client) << pop
      val delivered = RegNext(pop.fire && pop.last) init False
      io.delivered(client) := delivered

      // `promised` counts the client's beats that are in its FIFO or on their way to it. A beat is
      // read only if the FIFO has room for it.
      val promised = Reg(UInt(log2Up(Depth + 1) bits)) init 0
      promised        := promised + arbiter.io.inputs(client).fire.asUInt - fifo.io.pop.fire.asUInt
      mayRead(client) := !promised.msb
      val idle = promised === 0 && !pop.valid
    }
  io.idle := readers.map(_.io.idle).andR && outputs.map(_.idle).andR
}
