// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.{ModuleName, Request}

/** Reads the next chain of each queue of one direction ahead: its entry in the available ring, and
  * its first descriptor. So a receive queue has a buffer ready before its frame comes.
  *
  * The number of the descriptor is guessed, so that both reads go out one behind the other. Drivers
  * either use the head again that was given back last, or the one behind it, and the guess is the
  * way that was right last. If the entry names another descriptor, that one is read. A guess is
  * always inside the table. The descriptor of a right guess is valid, since the driver has written
  * it before it showed the entry.
  *
  * If a queue is not live any more, what was read for it is dropped.
  */
case class HeadReader(p: EngineParam, transmit: Boolean) extends Component {
  ModuleName(this, if (transmit) "transmit" else "receive")
  import HeadReader._
  import HostRequests.Returned
  import VirtioParam.RingHead

  val io = new Bundle {
    val contexts = in(Vec(QueueContext(p.sizeWidth), p.pairs))
    val live     = in Bits (p.pairs bits)
    val features = in(Vec(RingFeatures(), p.pairs))
    val known    = in(Vec(UInt(16 bits), p.pairs)) // The available index as far as it is known.
    val take     = in Bits (p.pairs bits)          // The head of a queue was taken.
    val heads    = out(Vec(Head(p.sizeWidth), p.pairs))
    val valid    = out Bits (p.pairs bits)         // These heads were read.
    val request  = master(Stream(Fragment(Request())))
    val entry, descriptor = slave(Flow(Fragment(Returned())))
    val reading           = out Bits (p.pairs bits) // A read for a queue is under way.
    val busy              = out Bool ()
  }
  val number = HardType(UInt(p.sizeWidth - 1 bits))

  /** The state of each queue. */
  val state = new Area {
    def every[T <: Data](kind: HardType[T]): Vec[T] = Vec(Reg(kind()), p.pairs)
    val next    = every(UInt(16 bits))           // The index of the chain that is read next.
    val last    = every(number)                  // The head that was read last.
    val upwards = Reg(Bits(p.pairs bits)) init 0 // Heads follow one another.
    val valid   = Reg(Bits(p.pairs bits)) init 0
    val heads   = every(Head(p.sizeWidth))
  }
  for (n <- 0 until p.pairs) {
    when(io.take(n)) {
      state.valid(n) := False
      state.next(n)  := state.next(n) + 1
    }
  }
  io.heads := state.heads
  io.valid := state.valid
  val lacks = Vec((0 until p.pairs).map { n =>
    io.live(n) && !state.valid(n) && state.next(n) =/= io.known(n)
  }).asBits

  val pair                             = Reg(UInt(p.pairWidth bits)) init 0
  def of[T <: Data](vector: Vec[T]): T = if (p.pairs == 1) vector(0) else vector(pair)
  def bit(bits: Bits): Bool            = if (p.pairs == 1) bits(0) else bits(pair)

  val context = of(io.contexts)
  val mask    = (context.size - 1).resize(p.sizeWidth - 1)
  val phase   = RegInit(Step.rest)
  val cut     = Reg(Bool())        // The queue was not live at some time since it was chosen.
  val entryAt = Reg(UInt(64 bits)) // Address of the entry.
  val source  = Reg(UInt(64 bits)) // Address of the descriptor.
  val guess   = Reg(number)

  // The entry comes before the descriptor, since the data of reads keeps their order.
  val entry = new Area {
    val word   = Reg(UInt(16 bits))
    val failed = Reg(Bool())
    when(io.entry.valid) {
      // In a dword's upper half if its address is no multiple of 4.
      word   := io.entry.data.subdivideIn(16 bits)(entryAt(1).asUInt.resized).asUInt
      failed := io.entry.failed
    }
    val head    = word.resize(p.sizeWidth - 1)
    val tooHigh = word >= context.size
    val wrong   = head =/= guess && !tooHigh && !failed // Another descriptor was guessed.
  }

  io.request.valid      := phase === Step.entry || phase === Step.descriptor
  io.request.last       := True
  io.request.write      := False
  io.request.address    := ((phase === Step.entry) ? entryAt | source)(63 downto 2) @@ U"00"
  io.request.dwords     := (phase === Step.entry) ? U(1, 11 bits) | U(4, 11 bits)
  io.request.firstBe    := B"1111"
  io.request.lastBe     := B"1111".andMask(phase === Step.descriptor)
  io.request.attributes := 0
  io.request.context := HostRequests.context(
    transmit,
    (phase === Step.entry) ? U(HostRequests.Entry, 2 bits) | U(HostRequests.Descriptor, 2 bits)
  )
  io.request.data := 0

  when(!bit(io.live)) { cut := True }
  val likely = (of(state.last) + bit(state.upwards).asUInt) & mask
  val place  = (of(state.next).resize(p.sizeWidth - 1) & mask) @@ U"0"
  switch(phase) {
    is(Step.rest) {
      entryAt := context.available + (place +^ U(RingHead, 4 bits))
      guess   := likely
      source  := context.descriptors + (likely @@ U"0000")
      cut     := False
      when(bit(lacks)) { phase := Step.entry } elsewhen (lacks.orR) {
        pair := (if (p.pairs == 1) U(0, 1 bits) else OHToUInt(OHMasking.first(lacks)).resized)
      }
    }
    is(Step.entry)(when(io.request.ready) { phase := Step.descriptor })
    is(Step.descriptor)(when(io.request.ready) { phase := Step.await })
    is(Step.await)(when(io.descriptor.valid) {
      guess  := entry.head
      source := context.descriptors + (entry.head @@ U"0000")
      phase  := (entry.wrong && !cut) ? Step.descriptor | Step.rest
    })
  }

  val found = Head(p.sizeWidth)
  found.number     := entry.head
  found.tooHigh    := entry.tooHigh
  found.failed     := entry.failed || io.descriptor.failed
  found.descriptor := Descriptor(io.descriptor.data(127 downto 0))
  found.faults     := found.descriptor.faults(transmit, of(io.features), context.size, False)

  val keeps  = phase === Step.await && io.descriptor.valid && !cut && !entry.wrong
  val behind = of(state.last) + 1
  for (n <- 0 until p.pairs) {
    when(keeps && pair === n) {
      state.valid(n) := True
      state.heads(n) := found
      state.last(n)  := found.number
      when(found.number === behind) { state.upwards(n) := True }
      when(found.number === state.last(n)) { state.upwards(n) := False }
    }
    when(!io.live(n)) {
      state.valid(n) := False
      state.next(n)  := 0
      state.last(n)  := 0
    }
  }
  io.reading := UIntToOh(pair, p.pairs).andMask(phase =/= Step.rest)
  io.busy    := phase =/= Step.rest || lacks.orR
}

object HeadReader {

  /** The first descriptor of a chain, and its number in the table. */
  case class Head(sizeWidth: Int) extends Bundle {
    val number     = UInt(sizeWidth - 1 bits)
    val tooHigh    = Bool() // The number in the ring is beyond the table.
    val failed     = Bool() // A read of it failed.
    val descriptor = Descriptor()
    val faults     = Descriptor.Faults()
  }

  /** `rest` waits for a chain, `entry` and `descriptor` ask for a read each, and `await` waits for the
    * data of both.
    */
  object Step extends SpinalEnum {
    val rest, entry, descriptor, await = newElement()
  }
}
