// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.user

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.{HardBlock, Numbers, Request}

/** Makes the requests of commands, one command behind the other.
  *
  * A read is asked for when the store has room for all of its data. `freed` comes when a beat has
  * left the store. `read` reports each read command when its request was taken, or at once if the
  * command is refused.
  *
  * A write takes as many beats from `c2h` as its bytes need. Its end comes at `written` when the
  * endpoint has taken all of it. A refused write takes and drops its data.
  */
case class CommandRequests() extends Component {
  import CommandRequests._
  val io = new Bundle {
    val command = slave(Stream(CommandPlan.Planned()))
    val c2h     = slave(Stream(Fragment(HostCommand.Beat())))
    val request = master(Stream(Fragment(Request())))
    val read    = master(Flow(Read()))
    val freed   = in Bool ()
    val written = master(Flow(HostCommand.Done()))
    val claimed = out UInt (log2Up(Numbers.CommandStoreBeats + 1) bits)
  }
  val command  = io.command.payload
  val isRead   = io.command.valid && !command.write
  val isWrite  = io.command.valid && command.write
  val carried  = !command.refused
  val combined = Stream(Fragment(Request()))

  /** Beats of the store that hold data or are reserved for data that was asked for. */
  val store = new Area {
    val claimed = Reg(UInt(log2Up(Numbers.CommandStoreBeats + 1) bits)) init 0
    val claims  = isRead && carried && io.command.ready
    val more    = command.beats.resize(claimed.getWidth).andMask(claims)
    claimed    := claimed + more - io.freed.asUInt
    io.claimed := claimed
    // Only the present command claims room in the store, so room that was free stays free.
    val after = claimed +^ command.beats
    val fits  = RegInit(False)
    fits := isRead && !io.command.ready && after <= Numbers.CommandStoreBeats
  }

  val write = new Area {
    val at     = Reg(HostCommand.Beats()) init 0 // The number of the request's next beat.
    val data   = at =/= command.beats            // The beat has data of its own from `c2h`.
    val end    = at + 1 === (command.tail ? (command.beats + 1) | command.beats)
    val none   = command.refused && command.beats === 0
    val offers = isWrite && !none && (io.c2h.valid || !data)
    // The end of a refused write must not overtake that of the write before.
    val drops = command.refused && !io.request.valid
    val moves = offers && (carried ? combined.ready | drops)
    // No stream operator fits: a beat of the request may need a beat of `c2h`, or only the bytes
    // that were kept of the one before.
    io.c2h.ready   := isWrite && !none && data && (carried ? combined.ready | drops)
    when(moves)(at := end ? U(0) | (at + 1))

    // The bytes of a beat that belong to the next beat of the request.
    val kept = RegNextWhen(io.c2h.data.takeHigh(24), moves)
    val both = io.c2h.data ## kept
    val turned = command.address(1 downto 0).muxList((0 to 3).map { n =>
      n -> both(24 - 8 * n, HardBlock.DataWidth bits)
    })
    val ended   = moves && end || isWrite && none && drops
    val refused = ended && command.refused
  }

  // No stream operator fits: a command is one beat, and a write's request has several.
  combined.valid      := carried && (isRead && store.fits || write.offers)
  combined.last       := !command.write || write.end
  combined.write      := command.write
  combined.address    := command.address(63 downto 2) @@ U"00"
  combined.dwords     := command.dwords
  combined.firstBe    := command.firstBe
  combined.lastBe     := command.lastBe
  combined.attributes := 0
  combined.context    := command.context
  combined.data       := write.turned
  io.request << combined.m2sPipe()
  val asked = isRead && (command.refused || store.fits && combined.ready)
  // A command is taken when its read was asked for, or with the last beat of its write.
  io.command.ready := asked || write.ended

  io.read.valid   := asked
  io.read.refused := command.refused
  io.read.start   := command.address(1 downto 0)
  io.read.tail    := command.tail
  io.read.bytes   := command.bytes
  io.read.context := command.context

  val taken = io.request.fire && io.request.last && io.request.write
  io.written.valid   := taken || write.refused
  io.written.write   := True
  io.written.context := io.request.valid ? io.request.context | command.context
  io.written.error   := U(Numbers.CommandRefused, 3 bits).andMask(write.refused)
}

object CommandRequests {

  /** A read command that was asked for or refused. Its data begins at byte `start` of its first
    * dword. `tail` and `bytes` are as in CommandPlan.Planned.
    */
  case class Read() extends Bundle {
    val refused, tail = Bool()
    val start         = UInt(2 bits)
    val bytes         = UInt(5 bits)
    val context       = Bits(Numbers.CommandContextBits bits)
  }
}
