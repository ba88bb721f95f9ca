// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.queue

import spinal.core._
import spinal.lib._

/** The chains of a queue that have begun while the data of earlier ones was on its way, in the
  * order in which they become used. Each of these chains has one buffer.
  *
  * `element` has the used element of the chain that begins. `done` says that the data of the next
  * chain in this order has come, or was written. `failed` comes with `done` if a read of this data
  * has failed. After a failure no chain ends.
  *
  * The used index may wait for elements that follow soon: up to `Batch` elements, and `Patience`
  * cycles from one element to the next.
  */
case class Flight(element: Bits, done: Bool, failed: Bool) extends Area {
  import Flight._

  val begun, ended, used = Reg(UInt(log2Up(Chains) + 1 bits)) init 0
  val stopped            = RegInit(False)
  val elements           = Mem(element, Chains)
  elements.addAttribute("ram_style", "distributed")

  val begins = False
  val uses   = False
  val broken = stopped || failed
  val ends   = done && !broken
  // `landed`, `more`, `some` and `full` are comparisons that are a cycle old. At least two cycles
  // lie between the begins of two chains, and between two used elements, and QueueRunner uses the
  // comparisons only in between. `full` does not count the chain that has just begun, so it leaves
  // room for one.
  val landed = RegNext((ends || ended =/= used) && !uses) init False
  val due    = ends || landed // The data of the oldest chain has come.
  // The data of the chain behind the oldest one has come, too.
  val more   = RegNext(ended - used > 1)
  val others = RegNext(begun - used > 1) // Chains are under way behind the oldest one.
  val some   = RegNext(begun =/= used) init False
  val full   = RegNext(begun - used >= Chains - 1)
  val oldest = elements.readAsync(used.resized)
  elements.write(begun.resized, element, begins)
  stopped := broken
  when(begins) { begun := begun + 1 }
  when(ends) { ended := ended + 1 }
  when(uses && some) { used := used + 1 }

  /** The used index that is still to be written behind elements. */
  val index = new Area {
    val owed  = RegInit(False)
    val batch = Reg(UInt(log2Up(Batch) bits)) init 0    // Elements since the last index.
    val age   = Reg(UInt(log2Up(Patience) bits)) init 0 // Cycles since the last element.
    val full  = batch.andR
    val over  = RegInit(False)
    age  := uses ? U(0) | (age + 1)
    over := owed && !uses && (over || age.andR)
    when(uses) { batch := batch + 1 }

    /** The index is written behind the next elements. */
    def defer(): Unit = owed := True

    /** The index is being written. */
    def settle(): Unit = {
      owed  := False
      over  := False
      batch := 0
    }
  }

  /** Drops all chains. */
  def clear(): Unit = {
    Seq(begun, ended, used).foreach(_ := 0)
    stopped := False
    index.settle()
  }
}

object Flight {
  val Chains   = 64 // The most chains under way. A power of two.
  val Batch    = 8  // The most elements of a used index. A power of two.
  val Patience = 8  // The most cycles for which a used index waits. A power of two.
}
