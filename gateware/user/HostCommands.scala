// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.user

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.{Numbers, ReadData, Request}

/** Carries out the commands of user logic, which reads and writes host memory by address.
  *
  * {{{
  *   command ---> CommandPlan ---> CommandRequests ---> request
  *   c2h ---------------------------^    |      |
  *                                  read |      | written
  *                                       v      +-----------> done
  *   data -------------------------> CommandReads ------------^
  *                                       |
  *   h2c <------------- store <----------+
  * }}}
  *
  * Commands begin in their order. Reads end in their order, and so do writes, but a write may end
  * before an earlier read. Every read ends, with an error if the host does not give its data. So
  * no command waits for ever, provided that the user logic gives the data of writes, and takes
  * the data of reads and the ends of commands.
  */
case class HostCommands() extends Component {
  val io = new Bundle {
    val command = slave(Stream(HostCommand()))
    val c2h     = slave(Stream(Fragment(HostCommand.Beat())))
    val h2c     = master(Stream(Fragment(HostCommand.Beat())))
    val done    = master(Stream(HostCommand.Done()))
    val request = master(Stream(Fragment(Request())))
    val data    = slave(Stream(Fragment(ReadData())))
    val busy    = out Bool ()
  }
  noIoPrefix()

  /** Counts the commands whose end the user has not taken. The queues of ends have room for all of
    * them.
    */
  val pending = new Area {
    val count = Reg(UInt(log2Up(Numbers.Commands + 1) bits)) init 0
    val begun = io.command.fire
    count := count + begun.asUInt - io.done.fire.asUInt
    // `may` is a cycle late, and another command may begin meanwhile.
    val may = RegNext(count < Numbers.Commands - 2) init False
  }

  val plan = CommandPlan()
  plan.io.command << io.command.continueWhen(pending.may)

  val requests = CommandRequests()
  requests.io.command << plan.io.planned
  requests.io.c2h << io.c2h
  io.request << requests.io.request

  val reads = CommandReads()
  reads.io.read << requests.io.read
  reads.io.data << io.data

  val store = StreamFifo(Fragment(HostCommand.Beat()), Numbers.CommandStoreBeats, latency = 2)
  store.io.push << reads.io.h2c.toStream
  io.h2c << store.io.pop
  requests.io.freed := io.h2c.fire

  val ends = for (each <- Seq(reads.io.done, requests.io.written)) yield {
    val queue = StreamFifo(HostCommand.Done(), Numbers.Commands, latency = 2)
    queue.io.push << each.toStream
    queue.io.pop
  }
  io.done << StreamArbiterFactory().roundRobin.transactionLock.on(ends)

  val works = RegNext(pending.count =/= 0 || requests.io.claimed =/= 0) init False
  io.busy := works || io.command.valid
}
