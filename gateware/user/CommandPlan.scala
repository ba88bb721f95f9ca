// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.user

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.Numbers

/** Computes the request that carries out a command: whole dwords, with byte enables for the first
  * and the last one (base specification 2.2.5). Two registers keep the paths short.
  */
case class CommandPlan() extends Component {
  import CommandPlan._
  val io = new Bundle {
    val command = slave(Stream(HostCommand()))
    val planned = master(Stream(Planned()))
  }

  val measured = new Area {
    val next = Measured()
    val most = U(Numbers.CommandBytes, Numbers.CommandBytesBits + 1 bits)
    next.command := io.command.payload
    // Bytes from the start of the first dword to the end of the command.
    next.reach   := io.command.bytes +^ io.command.address(1 downto 0)
    next.refused := io.command.bytes === 0 || next.reach > most
    next.beats   := ((io.command.bytes +^ 31) >> 5).resize(HostCommand.Beats().getWidth)
    val stage = io.command.translateWith(next).m2sPipe()
  }

  val planned = new Area {
    val from   = measured.stage.payload
    val start  = from.command.address(1 downto 0)
    val single = from.reach <= 4
    val first  = (B"1111" << start).resize(4)
    val last   = from.reach(1 downto 0).mux(0 -> B"1111", 1 -> B"0001", 2 -> B"0011", 3 -> B"0111")
    // The number of the request's last beat, from 0 on.
    val end  = ((from.reach - 1) >> 5).resize(HostCommand.Beats().getWidth)
    val next = Planned()
    next.write   := from.command.write
    next.refused := from.refused
    next.address := from.command.address
    next.context := from.command.context
    next.bytes   := from.command.bytes(4 downto 0)
    next.beats   := from.beats
    next.dwords  := ((from.reach + 3) >> 2).resize(11)
    next.firstBe := single ? (first & last) | first
    next.lastBe  := last.andMask(!single)
    next.tail    := !from.refused && end === from.beats
    val stage = measured.stage.translateWith(next).m2sPipe()
  }
  io.planned << planned.stage
}

object CommandPlan {
  case class Measured() extends Bundle {
    val command = HostCommand()
    val reach   = UInt(Numbers.CommandBytesBits + 1 bits)
    val beats   = HostCommand.Beats()
    val refused = Bool()
  }

  /** A command with the fields of its request. `bytes` is the number of valid bytes in the last
    * beat of the command's data; 0 means all 32. `tail` says that the request has one beat more
    * than the command's data.
    */
  case class Planned() extends Bundle {
    val write, refused, tail = Bool()
    val address              = UInt(64 bits)
    val context              = Bits(Numbers.CommandContextBits bits)
    val bytes                = UInt(5 bits)
    val beats                = HostCommand.Beats()
    val dwords               = UInt(Numbers.DwordCountWidth bits)
    val firstBe, lastBe      = Bits(4 bits)
  }
}
