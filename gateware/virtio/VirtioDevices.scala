// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import spinal.core._
import spinal.lib._

import lanebox.interrupt.RegisterPort
import lanebox.virtio.vocabulary.{EngineParam, VirtioParam}
import lanebox.vocabulary.{Frames, ReadData, Request}

/** The virtio devices of a card: an engine, and the frame stores behind its queues.
  *
  * {{{
  *   registers, request, data --- VirtioEngine --- console: one FrameStore, an echo in the card
  *                                             --- net: FrameStore --- NetTransmit --- h2c
  *                                                      FrameStore --- NetReceive ---- c2h
  * }}}
  *
  * `h2c` has the frames that the net driver sends, and `c2h` those that it receives. At most one of
  * the devices is a net device. Without a net device `h2c` is silent, and `c2h` is not taken.
  */
case class VirtioDevices(devices: Seq[VirtioParam] = VirtioDevices.all) extends Component {
  setDefinitionName("VirtioDevices")
  val p    = EngineParam(devices)
  val nets = p.owners.indices.filter(pair => devices(p.owners(pair)).frames)
  require(nets.size <= 1, s"${nets.size} pairs of queues of net devices: there is one far side")

  val io = new Bundle {
    val registers = Vec(slave(RegisterPort(VirtioRegisters.AddressBits)), devices.size)
    val request   = master(Stream(Fragment(Request())))
    val data      = slave(Stream(Fragment(ReadData())))
    // A pulse for each queue that has news for the driver, and for a new configuration. The causes
    // of the first device are in the lowest bits.
    val causes = out Bits (devices.map(_.queues + 1).sum bits)
    val busy   = out Bool () // A device has work, or a reset is under way.
    val now    = in UInt (64 bits)
    val link   = in Bool ()
    val h2c    = master(Frames())
    val c2h    = slave(Frames())
  }
  noIoPrefix()

  val engine = VirtioEngine(p)
  engine.io.registers <> io.registers
  engine.io.links.setAllTo(io.link)
  io.request << engine.io.request
  io.causes := engine.io.causes.asBits
  engine.io.data << io.data

  /** The logic behind a pair of queues. */
  abstract class Side extends Area {
    def busy: Bool
  }

  class Echo(far: FarPort) extends Side {
    val store = FrameStore(p)
    store.io.row << far.row
    store.io.forget := far.forget
    store.io.clear  := far.clear
    store.io.read   := far.read
    store.io.rest   := far.rest
    far.frame << store.io.frame
    far.place := store.io.place
    far.data  := store.io.data
    far.free  := store.io.free
    far.room  := True
    far.lost  := False
    // A frame that waits for a buffer is no work. The engine itself reports all other work.
    def busy: Bool = False
  }

  class Net(far: FarPort, param: VirtioParam) extends Side {
    val sent = FrameStore(p)
    val send = NetTransmit(p)
    sent.io.row << far.row
    sent.io.forget := far.forget
    sent.io.clear  := False
    sent.io.read   := send.io.read
    sent.io.rest   := True
    send.io.frame << sent.io.frame
    send.io.place := sent.io.place
    send.io.data  := sent.io.data
    send.io.now   := io.now
    far.free      := sent.io.free
    val room = RegNext(sent.io.free >= param.largestRows + VirtioParam.FlightRows) init False
    far.room := room
    io.h2c << send.io.h2c

    val got = FrameStore(p)
    val get = NetReceive(p)
    get.io.c2h << io.c2h
    get.io.live  := far.live
    get.io.clear := far.clear
    get.io.free  := got.io.free
    got.io.row << get.io.row
    got.io.forget := False
    got.io.clear  := far.clear
    got.io.read   := far.read
    got.io.rest   := far.rest
    far.frame << got.io.frame
    far.place := got.io.place
    far.data  := got.io.data
    far.lost  := get.io.lost
    def busy: Bool = send.io.busy
  }

  val sides = engine.io.far.toSeq.zipWithIndex.map { case (far, pair) =>
    val device = devices(p.owners(pair))
    if (device.frames) new Net(far, device) else new Echo(far)
  }
  io.busy := engine.io.busy || sides.map(_.busy).orR

  if (nets.isEmpty) {
    io.h2c.setIdle()
    io.c2h.setBlocked()
  }
}

object VirtioDevices {

  /** The devices of a card, in the order of their pages and interrupt causes. */
  def all: Seq[VirtioParam] = Seq(VirtioParam.console, VirtioParam.net)
}
