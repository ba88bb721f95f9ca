// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.queue

import spinal.core._
import spinal.core.sim._

import lanebox.virtio.vocabulary.{EngineParam, VirtioParam}

/** QueueRunner with one transmit queue, between a mover that moves nothing and a reader that has
  * read every chain. Both take as long as the simulation says.
  *
  * All that changes from cycle to cycle is in the ports `drive` and `seen`, since a simulation takes
  * long to access a port. While the queue is not `live`, its indices become `start`.
  */
case class InterruptRace(packed: Boolean) extends Component {
  import InterruptRace._

  val p = EngineParam(
    Seq(VirtioParam.console.copy(queueSize = Largest, patience = Patience).withPacked(packed))
  )
  val io = new Bundle {
    val drive            = in Bits (widthOf(Drive()) bits)
    val live, eventIndex = in Bool ()
    val start            = in UInt (16 bits)
    val size             = in UInt (p.sizeWidth bits)
    val seen             = out Bits (widthOf(Seen()) bits)
  }
  val drive = Drive()
  drive.assignFromBits(io.drive)
  val runner  = QueueRunner(p, transmit = true)
  val state   = runner.state
  val indices = Seq(state.taken, state.known, state.used, state.told).map(_.head)
  indices.foreach(_.simPublic())

  val context = runner.io.contexts(0)
  context.descriptors                      := Descriptors
  context.available                        := Available
  context.used                             := Used
  context.size                             := io.size
  runner.io.live                           := io.live.asBits
  runner.io.drain                          := 0
  runner.io.features(0).indirect           := False
  runner.io.features(0).eventIndex         := io.eventIndex
  runner.io.features(0).merge              := False
  if (packed) runner.io.features(0).packed := True
  runner.io.kick.pairs                     := drive.kicks.asBits
  runner.io.kick.hinted                    := drive.hinted
  runner.io.kick.index                     := drive.index

  /** The reader of chains: each of them is one buffer of 64 bytes. */
  val heads = new Area {
    val known          = runner.io.known(0)
    val fetched, taken = Reg(cloneOf(known))
    when(drive.fetches && fetched =/= known) { fetched := fetched + 1 }
    when(runner.io.take) { taken := taken + 1 }
    when(!io.live) {
      fetched := io.start.resized
      taken   := io.start.resized
    }
    val head = runner.io.head
    head.number  := 0
    head.tooHigh := False
    head.failed  := False
    head.plain   := True
    head.faults.assignFromBits(B(0, widthOf(head.faults) bits))
    head.descriptor.assignFromBits(B(0, widthOf(head.descriptor) bits))
    head.descriptor.bytes.removeAssignments() := 64
    runner.io.read                            := (fetched =/= taken).asBits
    runner.io.reading                         := 0
  }

  /** The mover. The data of chains that are alone comes in their order. */
  val mover = new Area {
    val takes = runner.io.buffer.fire
    val alone = Reg(UInt(8 bits)) init 0 // Chains whose data has not come.
    val other = RegInit(False)           // A chain that is not alone waits for its data.
    val done  = drive.moves && alone =/= 0
    alone := alone + (takes && runner.io.alone).asUInt - done.asUInt
    when(runner.io.moved.valid) { other := False }
    when(takes && !runner.io.alone) { other := True }
    runner.io.buffer.ready := drive.ready
    runner.io.done         := done
    runner.io.failed       := False
    runner.io.moved.valid  := drive.moves && other
    runner.io.moved.bytes  := 0
    runner.io.moved.ended  := True
    runner.io.moved.failed := False
    runner.io.room         := drive.alone.asBits
    runner.io.frames       := drive.frames.asBits
    runner.io.quiet        := alone === 0 && !other
    runner.io.idle         := True
    runner.io.fresh        := True
    runner.io.length       := 0
  }
  runner.io.posted        := drive.posted
  runner.io.ask.ready     := drive.ready
  runner.io.answer.valid  := drive.answered
  runner.io.answer.data   := drive.answer.resized
  runner.io.answer.failed := False
  runner.io.write.ready   := drive.ready

  /** The look of a packed ring is a read as all others are. */
  val look = packed generate new Area {
    val begun = RegInit(False)
    val next  = Reg(UInt(16 bits))
    val ended = RegNext(begun && drive.answered) init False
    val asks  = runner.io.looks.look && !begun && !ended && drive.ready
    when(asks) { begun := True }
    when(drive.answered) {
      begun := False
      next  := drive.answer(31 downto 16).asUInt
    }
    runner.io.looks.looked  := ended
    runner.io.looks.failed  := False
    runner.io.looks.next(0) := next
    runner.io.looks.retract := 0
    when(begun) { runner.io.answer.valid := False }
  }

  val seen  = Seen()
  val write = runner.io.write
  val event = if (packed) !write.pair else write.half // The device's wish for notifications.
  val reads = runner.io.ask.fire
  seen.value     := write.data(17 downto 0)
  seen.shows     := write.fire && (if (packed) write.pair else !write.pair && !write.half)
  seen.arms      := write.fire && event
  seen.asksEvent := (if (packed) reads else reads && runner.io.ask.bytes === 2)
  seen.asksIndex := (if (packed) look.asks else reads && runner.io.ask.bytes =/= 2)
  seen.announced := runner.io.announced(0)
  seen.busy      := runner.io.busy || heads.fetched =/= heads.known
  seen.violated  := runner.io.violation.valid
  if (!packed) when(seen.shows) { seen.value := write.data(31 downto 16).resized }
  io.seen := seen.asBits
}

object InterruptRace {
  val Largest  = 64 // Entries of the largest queue.
  val Patience = 30

  val Descriptors = 0x10000
  val Available   = 0x20000
  val Used        = 0x30000

  /** The inputs of the device in a cycle. `answer`, valid with `answered`, has the data of a read. An
    * available index is in its upper half.
    */
  case class Drive() extends Bundle {
    val answer   = Bits(32 bits)
    val index    = UInt(16 bits) // Valid with `kicks` and `hinted`.
    val answered = Bool()
    val kicks    = Bool()        // A notification.
    val hinted   = Bool()
    val ready    = Bool()        // A read, a write or a buffer is accepted.
    val posted   = Bool()        // All writes were handed over to the endpoint.
    val moves    = Bool()        // The data of a chain comes.
    val fetches  = Bool()        // A chain that is known was read.
    val frames   = Bool()        // A chain may begin.
    val alone    = Bool()        // It may begin while others are under way.
  }

  /** The outputs of the device in a cycle. With `shows` the device writes a used element of a packed
    * ring, or the used index `value` of a split one. With `arms` it writes `value` as its own event.
    */
  case class Seen() extends Bundle {
    val value     = Bits(18 bits)
    val shows     = Bool()
    val arms      = Bool()
    val asksEvent = Bool() // The device reads the driver's event.
    val asksIndex = Bool() // It reads the available index, with the flags of a split ring.
    val announced = Bool()
    val busy      = Bool()
    val violated  = Bool()
  }
}
