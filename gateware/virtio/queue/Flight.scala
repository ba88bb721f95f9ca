// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.queue

import spinal.core._
import spinal.lib._

/** The chains of a transmit queue that have begun while the data of earlier ones was on its way, in
  * the order in which they become used. Each of these chains has one buffer.
  *
  * `number` is the head of the chain that begins. `done` says that the data of the next chain in
  * this order has come. `failed`, valid with `done`, says that a read of this data has failed.
  * After a failure no chain ends.
  */
case class Flight(number: UInt, done: Bool, failed: Bool) extends Area {
  import Flight.Chains

  val begun, ended, used = Reg(UInt(log2Up(Chains) + 1 bits)) init 0
  val stopped            = RegInit(False)
  val heads              = Mem(number, Chains)
  heads.addAttribute("ram_style", "distributed")

  val broken = stopped || (done && failed)
  val ends   = done && !broken
  // `landed`, `more`, `some` and `full` are comparisons that are a cycle old. At least two cycles
  // lie between the begins of two chains, and between two used elements, and QueueRunner uses the
  // comparisons only in between. `full` does not count the chain that has just begun, so it leaves
  // room for one.
  val landed = RegNext(ends || ended =/= used) init False
  val due    = ends || landed // The data of the oldest chain has come.
  // The data of the chain behind the oldest one has come, too.
  val more   = RegNext(ended - used > 1)
  val some   = RegNext(begun =/= used) init False
  val full   = RegNext(begun - used >= Chains - 1)
  val oldest = heads.readAsync(used.resized)
  val begins = False
  val uses   = False
  heads.write(begun.resized, number, begins)
  stopped := broken
  when(begins) { begun := begun + 1 }
  when(ends) { ended := ended + 1 }
  when(uses && some) { used := used + 1 }

  /** Drops all chains. */
  def clear(): Unit = {
    Seq(begun, ended, used).foreach(_ := 0)
    stopped := False
  }
}

object Flight {
  val Chains = 32 // The most chains under way. A power of two.
}
