// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.user

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.{HardBlock, Numbers, ReadData, ReadError}

/** Brings the data of reads to `h2c`, rotated so that each command's data begins in lane 0.
  *
  * Data comes in the order of the reads, and `read` reports each read before its data comes. The
  * receiver has room for all beats. `done` comes with the last beat of a command, or alone if the
  * command was refused, in the order of the commands.
  */
case class CommandReads() extends Component {
  val io = new Bundle {
    val read = slave(Flow(CommandRequests.Read()))
    val data = slave(Stream(Fragment(ReadData())))
    val h2c  = master(Flow(Fragment(HostCommand.Beat())))
    val done = master(Flow(HostCommand.Done()))
  }
  val flight = StreamFifo(CommandRequests.Read(), Numbers.Commands, latency = 2)
  flight.io.push << io.read.toStream // The FIFO has room for all commands.
  val read = flight.io.pop.payload

  val expected = flight.io.pop.valid && !read.refused // Data comes for the oldest command.
  val taken    = io.data.continueWhen(expected).toFlow

  /** `held` is the previous beat. It waits for the first bytes of the present beat, unless it is
    * the last beat of its read.
    */
  val held = new Area {
    val valid   = RegInit(False)
    val beat    = Reg(Fragment(ReadData()))
    val read    = Reg(CommandRequests.Read())
    val failure = Reg(UInt(3 bits)) init 0 // The first error of the read so far.
  }
  val error   = taken.error.asBits.asUInt
  val failed  = RegInit(U(0, 3 bits))
  val failure = (failed =/= 0) ? failed | error
  when(taken.valid)(failed := failure.andMask(!taken.last))

  // The read's last beat has only bytes that complete the previous beat of `h2c`.
  val joins = taken.last && read.tail
  when(taken.valid || held.beat.last)(held.valid := taken.valid && !joins)
  when(taken.valid) {
    held.beat    := taken.payload
    held.read    := read
    held.failure := failure
  }

  val leaves = new Area {
    val whole = held.beat.last
    val both  = taken.data.takeLow(24) ## held.beat.data
    val next  = Fragment(HostCommand.Beat())
    next.data := held.read.start.muxList((0 to 3).map { n =>
      n -> both(8 * n, HardBlock.DataWidth bits)
    })
    next.last  := whole || joins
    next.bytes := held.read.bytes.resized
    val end = whole ? held.failure | failure
    next.error := end =/= 0
    val valid = held.valid && (whole || taken.valid)
    val beat  = Flow(Fragment(HostCommand.Beat()))
    beat.valid   := valid
    beat.payload := next
    val stage = beat.m2sPipe
    io.h2c << stage
  }

  val ends = new Area {
    val context = RegNext(held.read.context)
    val error   = RegNext(leaves.end)
    // The end of a refused read must not overtake that of the read before it.
    val refused = flight.io.pop.valid && read.refused && !held.valid && !leaves.stage.valid
    // No stream operator fits: a read is taken with the last beat of its data, or without data.
    flight.io.pop.ready := refused || (taken.valid && taken.last)
    io.done.valid       := (leaves.stage.valid && leaves.stage.last) || refused
    io.done.write       := False
    io.done.context     := refused ? read.context | context
    io.done.error       := refused ? U(Numbers.CommandRefused, 3 bits) | error
  }
}
