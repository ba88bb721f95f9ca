// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import spinal.core._
import spinal.lib._

import lanebox.interrupt.RegisterPort
import lanebox.vocabulary.{ReadData, Request}

/** A virtio console whose far side is an echo in the card: what the driver sends comes back.
  *
  * {{{
  *   registers --- VirtioRegisters --- contexts, live, kicks ---> two QueueRunners
  *
  *   transmit: QueueRunner --- buffers ---> TransmitMover ---> BytePacker ---> FrameStore
  *                  |                            |                                 |
  *             RingReader, RingWriter            +--- reads ----+                  |
  *                  |                                           v                  |
  *                  +---------------------------------------> arbiter ---> request |
  *                  |                                           ^                  |
  *             RingReader, RingWriter            +--- writes ---+                  |
  *                  |                            |                                 |
  *   receive:  QueueRunner --- buffers ---> ReceiveMover <-------------------------+
  * }}}
  *
  * Requests of one direction come one behind the other, so the arbiter keeps their order: data, used
  * element, used index.
  */
case class VirtioConsole(p: VirtioParam = VirtioParam.console) extends Component {
  setDefinitionName("VirtioConsole")
  import HostRequests.{Payload, Transmit}

  val io = new Bundle {
    val registers = slave(RegisterPort(VirtioRegisters.AddressBits))
    val request   = master(Stream(Fragment(Request())))
    val data      = slave(Stream(Fragment(ReadData())))
    val causes    = out Bits (p.queues + 1 bits)
    val busy      = out Bool () // The device has work, or a reset is under way.
  }
  noIoPrefix()

  val registers = VirtioRegisters(p)
  registers.io.registers <> io.registers
  io.causes     := registers.io.causes
  io.data.ready := True

  /** What the two directions have alike. The queues of a direction are every second queue. */
  class Direction(transmit: Boolean) extends Area {
    val number = if (transmit) 1 else 0
    val runner = QueueRunner(p, transmit)
    val reader = RingReader()
    val writer = RingWriter()
    runner.io.features := registers.io.features
    runner.io.drain    := registers.io.drain
    runner.io.kick << registers.io.kicks(number)
    for (pair <- 0 until p.pairs) {
      runner.io.contexts(pair)                  := registers.io.contexts(2 * pair + number)
      runner.io.live(pair)                      := registers.io.live(2 * pair + number)
      registers.io.announced(2 * pair + number) := runner.io.announced(pair)
    }
    reader.io.ask << runner.io.ask
    reader.io.data << HostRequests.returned(io.data, number << Transmit)
    runner.io.answer << reader.io.answer
    writer.io.write << runner.io.write
    val reads  = HostRequests.read(reader.io.request, number << Transmit)
    val writes = writer.io.request
  }

  val store  = FrameStore(p)
  val packer = BytePacker()

  val transmit = new Direction(true) {
    val mover   = TransmitMover(p)
    val context = number << Transmit | 1 << Payload
    mover.io.buffer << runner.io.buffer
    runner.io.moved << mover.io.moved
    runner.io.frame := True
    mover.io.ends   := runner.io.ended || runner.io.gaveUp
    mover.io.free   := store.io.free
    mover.io.data << HostRequests.returned(io.data, context)
    val payload = HostRequests.read(mover.io.request, context)
    packer.io.piece << mover.io.piece
    packer.io.end        := runner.io.ended
    packer.io.forget     := runner.io.gaveUp
    registers.io.dropped := mover.io.dropped
  }
  store.io.row << packer.io.row
  store.io.forget := packer.io.forgot
  store.io.clear  := registers.io.clear

  val receive = new Direction(false) {
    val mover = ReceiveMover(p)
    mover.io.buffer << runner.io.buffer
    runner.io.moved << mover.io.moved
    runner.io.frame := store.io.frame.valid
    mover.io.forget := runner.io.gaveUp
    mover.io.frame << store.io.frame
    store.io.read := mover.io.read
    mover.io.data := store.io.data
  }

  val merge = new Area {
    val requests = Seq(
      receive.mover.io.request,
      receive.writes,
      receive.reads,
      transmit.payload,
      transmit.writes,
      transmit.reads
    )
    val arbiter = StreamArbiterFactory().roundRobin.fragmentLock.on(requests)
    io.request << arbiter.m2sPipe()
  }

  registers.io.drained := transmit.runner.io.drained && receive.runner.io.drained
  val violations = Seq(transmit, receive).map(_.runner.io.violation)
  registers.io.violation.valid := violations.map(_.valid).orR
  registers.io.violation.payload := Mux(
    violations.head.valid,
    violations.head.payload,
    violations.last.payload
  )
  val works = RegNext(transmit.runner.io.busy || receive.runner.io.busy) init False
  io.busy := works
}
