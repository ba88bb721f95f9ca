// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.steering

import spinal.core._
import spinal.lib._

import lanebox.virtio.vocabulary.Row
import lanebox.vocabulary.Frames

/** Learns from the frames that the driver sends by which pair of queues each flow leaves, so that
  * its received frames go to the same pair (VirtIO 1.2, 5.1.6.5.5).
  *
  * `sent` has the rows of sent frames, and `bySecond` says that they come from the second pair.
  * `toSecond` says that the received frame goes to the second pair. It is valid from the cycle
  * behind its second beat until its last row is stored. Flows that are not known, and frames that
  * are no IP packets, go to the first pair. While only the first pair is active (not `both`), the
  * table forgets all flows: an entry in each cycle.
  */
case class FlowTable() extends Component {
  val io = new Bundle {
    val both     = in Bool ()
    val sent     = slave(Flow(Row()))
    val forget   = in Bool ()
    val bySecond = in Bool ()
    val received = slave(Flow(Fragment(Frames.Beat())))
    val toSecond = out Bool ()
  }
  val entries = Mem(Bool(), 1 << FlowHash.Width)
  entries.addAttribute("ram_style", "distributed")

  val learn = new Area {
    val flow  = FlowHash(io.sent.valid, io.sent.last, io.sent.data, io.forget)
    val found = RegNext(flow.found) init False
    val hash  = Reg(UInt(FlowHash.Width bits)) init 0
    val value = RegNext(io.bySecond)
    hash := io.both ? flow.hash | (hash + 1)
    entries.write(hash, value && io.both, found || !io.both)
  }
  val choose = new Area {
    val beat   = io.received
    val flow   = FlowHash(beat.valid, beat.last, beat.data, False)
    val second = Reg(Bool()) init False
    when(beat.valid && flow.first) { second := False }
    when(flow.found) { second := entries.readAsync(flow.hash) && io.both }
    io.toSecond := second
  }
}
