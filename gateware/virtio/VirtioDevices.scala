// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import spinal.core._
import spinal.lib._

import lanebox.interrupt.RegisterPort
import lanebox.virtio.steering.{FlowTable, PairChoice}
import lanebox.virtio.vocabulary.{EngineParam, FarPort, VirtioParam}
import lanebox.vocabulary.{Frames, Numbers, ReadData, Request}

/** The virtio devices of a card: an engine, and the frame stores behind its queues.
  *
  * {{{
  *   registers, request, data --- VirtioEngine --- console: one FrameStore, an echo in the card
  *                                             --- net: FrameStore --- NetTransmit --- h2c
  *                                             \__ PairChoice --- FrameStore --- NetReceive --- c2h
  * }}}
  *
  * `h2c` has the frames that the net driver sends, and `c2h` those that it receives. At most one of
  * the devices is a net device. Without a net device `h2c` is silent, and `c2h` is not taken. Both
  * pairs of queues of a net device have the same frame stores. The engine sends whole frames, so
  * those of both pairs do not mix.
  */
case class VirtioDevices(devices: Seq[VirtioParam] = VirtioDevices.all) extends Component {
  setDefinitionName("VirtioDevices")
  val p    = EngineParam(devices)
  val nets = devices.count(_.frames)
  require(nets <= 1, s"$nets net devices: there is one far side")

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
    val begun: Bool
  }

  class Echo(far: FarPort) extends Side {
    val store = FrameStore(p)
    store.io.row << far.row
    store.io.mark   := False
    store.io.forget := far.forget
    store.io.clear  := far.clear
    store.io.read   := far.read
    store.io.rest   := far.rest
    store.io.shows  := far.shows
    far.frame << store.io.frame
    far.place := store.io.place
    far.data  := store.io.data
    far.free  := store.io.free
    far.room  := True
    far.lost  := False
    val begun = False
    // A frame that waits for a buffer is no work. The engine itself reports all other work.
    def busy: Bool = False
  }

  class Net(fars: Seq[FarPort], device: Int) extends Side {
    val param = devices(device)
    val both  = engine.io.both(device)
    val sent  = FrameStore(p)
    val send  = NetTransmit(p)
    sent.io.row.valid   := fars.map(_.row.valid).orR
    sent.io.row.payload := fars.head.row.payload // All pairs have the same rows.
    sent.io.mark        := False
    sent.io.forget      := fars.map(_.forget).orR
    sent.io.clear       := False
    sent.io.read        := send.io.read
    sent.io.rest        := True
    sent.io.shows       := True
    send.io.frame << sent.io.frame
    send.io.place := sent.io.place
    send.io.data  := sent.io.data
    send.io.now   := io.now
    val room = RegNext(sent.io.free >= param.largestRows + VirtioParam.FlightRows) init False
    io.h2c << send.io.h2c

    val got = FrameStore(p)
    val get = NetReceive(p)
    get.io.c2h << io.c2h
    get.io.runs  := fars.head.runs
    get.io.clear := fars.head.clear
    get.io.free  := got.io.free
    got.io.row << get.io.row
    got.io.forget := False
    got.io.clear  := fars.head.clear
    got.io.read   := fars.head.read
    got.io.rest   := fars.map(_.rest).andR // Frames of one pair at most are under way.
    got.io.shows  := fars.map(_.shows).orR
    for (far <- fars) {
      far.free  := sent.io.free
      far.room  := room
      far.place := got.io.place
      far.data  := got.io.data
      far.lost  := (if (far eq fars.head) get.io.lost else False)
    }
    val two    = param.pairs > 1
    val flows  = two generate FlowTable()
    val choice = two generate PairChoice(got.io.frame, got.io.marked, both, fars.head.clear, fars)
    // A received frame has begun in the second pair.
    val begun = if (two) choice.begun else False
    if (two) {
      flows.io.both := both
      flows.io.sent << sent.io.row
      flows.io.forget   := sent.io.forget
      flows.io.bySecond := fars.last.row.valid
      flows.io.received << io.c2h.toFlowFire
      got.io.mark := flows.io.toSecond
    } else {
      fars.head.frame << got.io.frame
      got.io.mark := False
    }
    def busy: Bool = send.io.busy
  }

  val sides = devices.zipWithIndex.flatMap { case (device, n) =>
    val fars = p.owners.indices.filter(p.owners(_) == n).map(engine.io.far(_))
    val made = if (device.frames) Seq(new Net(fars, n)) else fars.map(new Echo(_))
    engine.io.begun(n) := made.head.begun
    made
  }
  io.busy := engine.io.busy || sides.map(_.busy).orR

  if (nets == 0) {
    io.h2c.setIdle()
    io.c2h.setBlocked()
  }
}

object VirtioDevices {

  /** The devices of a card, in the order of their pages and interrupt causes. The net device has
    * this many pairs of queues.
    */
  def all(pairs: Int): Seq[VirtioParam] = Seq(VirtioParam.console, VirtioParam.net(pairs))
  def all: Seq[VirtioParam]             = all(Numbers.VirtioNetPairs)
}
