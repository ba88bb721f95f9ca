// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.queue

import spinal.core._
import spinal.lib._

import lanebox.virtio.vocabulary.{EngineParam, HostRequests, RingFeatures}
import lanebox.vocabulary.{ModuleName, Request}

/** Reads the next descriptors of the packed rings of one direction ahead, as HeadReader does with
  * split ones. A read has a line: up to 8 descriptors that follow one another.
  *
  * {{{
  *   known, look --> ask --- reads of lines ---> come ---> heads
  * }}}
  *
  * PackedReader asks for all descriptors up to the index that is `known`, and for one line behind
  * it if QueueRunner wants it to `look`. Each descriptor's own flags say whether it is available.
  * From the first one on that is not, what was asked for is dropped and is asked for again later.
  *
  * If a queue is not live any more, what was read for it is dropped. While reads for the queue are
  * under way it is stale: nothing more is read for it.
  */
case class PackedReader(p: EngineParam, transmit: Boolean) extends Component {
  ModuleName(this, if (transmit) "transmit" else "receive")
  import HeadReader.{Head, Line, Slots}
  import HostRequests.Returned
  import PackedReader._

  val io = new Bundle {
    val contexts = in(Vec(QueueContext(p.sizeWidth), p.pairs))
    val live     = in Bits (p.pairs bits)  // Bit n: pair n is served, and its ring is packed.
    val features = in(Vec(RingFeatures(p.packed), p.pairs))
    val known    = in(Vec(UInt(16 bits), p.pairs))
    val pair     = in UInt (p.pairWidth bits)
    val head     = out(Head(p.headWidth))  // The next descriptor of `pair`.
    val take     = in Bool ()              // The descriptor was taken.
    val valid    = out Bits (p.pairs bits) // Bit n: pair n has a descriptor.
    val request  = master(Stream(Fragment(Request())))
    val data    = slave(Flow(Fragment(Returned()))) // Each beat has one descriptor.
    val looks   = slave(Looks(p.pairs))
    val reading = out Bits (p.pairs bits)           // Bit n: reads for pair n are under way.
    val busy    = out Bool ()
  }
  val Place = log2Up(Line)

  def of[T <: Data](parts: Vec[T], pair: UInt): T = if (p.pairs == 1) parts(0) else parts(pair)
  def bit(bits: Bits, pair: UInt): Bool           = if (p.pairs == 1) bits(0) else bits(pair)
  def mask(context: QueueContext): UInt           = (context.size - 1).resize(p.sizeWidth - 1)

  val state = new Area {
    def every[T <: Data](kind: HardType[T]): Vec[T] = Vec(Reg(kind()), p.pairs)
    val next = every(UInt(16 bits)) // The index of the descriptor that is asked for next.
    val stored, taken = every(UInt(log2Up(Slots) + 1 bits)) // The lowest bits of indices.
    val lines         = every(UInt(log2Up(Lines + 1) bits)) // Lines that are under way.
    lines.foreach(_ init 0)
    val stale   = Reg(Bits(p.pairs bits)) init 0
    val missed  = Reg(Bits(p.pairs bits)) init 0 // A descriptor was not available.
    val retract = Reg(Bits(p.pairs bits)) init 0
  }

  /** The look that is under way. */
  val look = new Area {
    val begun  = RegInit(False)
    val failed = Reg(Bool())
    val pair   = Reg(UInt(p.pairWidth bits))
  }

  val ask = new Area {
    val offers  = RegInit(False)
    val looks   = Reg(Bool())
    val pair    = Reg(UInt(p.pairWidth bits)) init 0
    val source  = Reg(UInt(64 bits))
    val ahead   = Reg(UInt(16 bits))        // Descriptors that are known and were not asked for.
    val room    = Reg(UInt(Place + 1 bits)) // Descriptors up to the line's end.
    val context = of(io.contexts, pair)
    val next    = of(state.next, pair)
    val within  = mask(context)
    val ends    = within.resize(Place)      // The last place of a line.
    val count   = (looks || ahead >= room) ? room | ahead.resize(Place + 1)
    val place   = Stream(HostRequests.Place(8))
  }
  val under = Vec((0 until p.pairs).map { n =>
    state.lines(n) =/= 0 || (ask.offers && ask.pair === n)
  }).asBits
  val idle = Vec((0 until p.pairs).map(n => !under(n) && !state.missed(n))).asBits

  /** The lines that are under way, in order. */
  val lines = StreamFifo(Plan(p.pairWidth, p.sizeWidth), Lines, latency = 1)

  val wanted = Vec((0 until p.pairs).map { n =>
    val ahead = io.known(n) - state.next(n)
    val full  = state.next(n).resize(log2Up(Slots) + 1) - state.taken(n) > Slots - Line
    val rests = state.missed(n) || state.retract(n) || (look.begun && look.pair === n)
    io.live(n) && !state.stale(n) && !rests && ahead =/= 0 && !ahead.msb && !full
  }).asBits

  // A read that is offered stays as it is. The queue's indices begin anew if the queue is not live
  // any more, and more descriptors may become known.
  when(!ask.offers) {
    ask.source := ask.context.descriptors +
      ((ask.next.resize(p.sizeWidth - 1) & ask.within) @@ U"0000")
    ask.ahead := of(io.known, ask.pair) - ask.next
    ask.room  := (ask.ends - (ask.next.resize(Place) & ask.ends)) +^ U(1, 1 bits)
  }
  // No stream operator fits: `offers` is a state, and `lines` has room when it begins.
  ask.place.valid   := ask.offers
  ask.place.address := ask.source
  ask.place.bytes   := ask.count @@ U"0000"
  val read = HostRequests.read(ask.place, HostRequests.context(transmit, U(HostRequests.Packed)))
  io.request << read
  lines.io.push.valid := ask.place.fire
  lines.io.push.pair  := ask.pair
  lines.io.push.index := ask.next.resized
  lines.io.push.count := ask.count
  lines.io.push.looks := ask.looks
  when(ask.place.fire) { ask.offers := False }

  // A look reads only if nothing else is known that QueueRunner could go on with.
  val answers = False
  when(!ask.offers) {
    ask.looks := False
    when(io.looks.look && !look.begun) {
      val news = of(state.next, io.pair) =/= of(io.known, io.pair) ||
        of(state.stored, io.pair) =/= of(state.taken, io.pair)
      val ready = !bit(state.stale, io.pair)
      when(!bit(io.live, io.pair) || (ready && news)) { answers := True }
        .elsewhen(ask.pair =/= io.pair) { ask.pair := io.pair }
        .elsewhen(ready && bit(idle, io.pair) && lines.io.push.ready) {
          ask.offers  := True
          ask.looks   := True
          look.begun  := True
          look.pair   := io.pair
          look.failed := False
        }
    } elsewhen (lines.io.push.ready) {
      when(bit(wanted, ask.pair)) { ask.offers := True } elsewhen (wanted.orR) {
        ask.pair := (if (p.pairs == 1) U(0) else OHToUInt(OHMasking.first(wanted))).resized
      }
    }
  }
  val ended = look.begun && bit(idle, look.pair)
  when(ended) { look.begun := False }
  io.looks.looked  := answers || ended
  io.looks.failed  := ended && look.failed
  io.looks.next    := state.next
  io.looks.retract := state.retract

  /** A descriptor that has come. */
  val come = new Area {
    val plan  = lines.io.pop.payload
    val place = Reg(UInt(Place + 1 bits)) init 0
    val index = plan.index + place
    val size  = of(io.contexts, plan.pair).size
    val word  = io.data.data(127 downto 0)
    val head  = Head(p.headWidth)
    head.number     := PackedRing.id(word)
    head.tooHigh    := False
    head.failed     := io.data.failed
    head.descriptor := PackedRing.descriptor(word, False, False, U(0, 16 bits))
    val faults = head.descriptor.faults(transmit, of(io.features, plan.pair), size, False)
    head.faults.badTable := faults.badTable
    head.faults.empty    := faults.empty
    head.faults.wrongWay := faults.wrongWay
    head.faults.badNext  := False // The next descriptor is the next one of the ring.
    head.plain           := head.descriptor.isPlain(transmit) && !head.failed
    val drops = bit(state.stale | ~io.live | state.missed, plan.pair)
    val right = io.data.failed ? !plan.looks | PackedRing.isAvailable(word, index, size)
    val own   = io.data.valid && place < plan.count && !drops
    val keeps = own && right
    val fails = own && !right
    when(io.data.valid) { place := io.data.last ? U(0, Place + 1 bits) | (place + 1) }
    // No stream operator fits: descriptors come as a flow, in the order of the lines.
    lines.io.pop.ready := io.data.valid && io.data.last
    when(fails && plan.looks) { look.failed := io.data.failed }
  }

  val slots = new Area {
    val memory = Mem(Bits(Head.width(p.headWidth) bits), p.pairs * Slots)
    memory.addAttribute("ram_style", "distributed")
    def place(pair: UInt, counts: Vec[UInt]): UInt = {
      val slot = of(counts, pair).resize(log2Up(Slots))
      if (p.pairs == 1) slot else (pair @@ slot).resize(memory.addressWidth)
    }
    memory.write(place(come.plan.pair, state.stored), come.head.packed, come.keeps)
    val found = memory.readAsync(place(io.pair, state.taken))
    io.head.unpack(found)
  }

  for (n <- 0 until p.pairs) {
    val asks = ask.place.fire && ask.pair === n
    val ends = lines.io.pop.fire && come.plan.pair === n
    state.lines(n) := state.lines(n) + asks.asUInt - ends.asUInt
    when(asks) { state.next(n) := state.next(n) + ask.count }
    when(come.keeps && come.plan.pair === n) { state.stored(n) := state.stored(n) + 1 }
    when(come.fails && come.plan.pair === n) { state.missed(n) := True }
    // All that is dropped has come: the next line begins at the first descriptor that was dropped.
    state.retract(n) := False
    when(state.missed(n) && !under(n)) {
      val dropped = state.next(n).resize(log2Up(Slots) + 1) - state.stored(n)
      state.next(n)    := state.next(n) - dropped
      state.missed(n)  := False
      state.retract(n) := !(look.begun && look.pair === n)
    }
    when(io.take && io.pair === n) { state.taken(n) := state.taken(n) + 1 }
    state.stale(n) := under(n) && (state.stale(n) || !io.live(n))
    when(state.stale(n) || !io.live(n)) {
      Seq(state.next, state.stored, state.taken).foreach(_(n) := 0)
      state.missed(n)  := False
      state.retract(n) := False
    }
    io.valid(n) := state.stored(n) =/= state.taken(n) && !state.stale(n)
  }
  io.reading := under
  io.busy    := under.orR || wanted.orR

  /** Connects this reader and `heads` to the runner: each pair of queues has that of its format.
    * Returns which pairs have packed rings, and whether the runner's present pair has them.
    */
  def join(runner: QueueRunner, heads: HeadReader): Area = new Area {
    val packed  = Vec(runner.io.features.map(_.packed)).asBits
    val present = bit(packed, runner.io.pair)
    io.contexts   := runner.io.contexts
    io.features   := runner.io.features
    io.known      := runner.io.known
    io.take       := runner.io.take
    io.pair       := runner.io.pair
    io.live       := runner.io.live & packed
    heads.io.live := runner.io.live & ~packed
    io.looks <> runner.io.looks
    runner.io.head    := present ? io.head | heads.io.head
    runner.io.read    := io.valid | heads.io.valid
    runner.io.reading := io.reading | heads.io.reading
  }
}

object PackedReader {
  val Lines = 4 // Lines that are under way at the most.

  /** A line whose read has not been answered yet: `count` descriptors from an index on. Of the
    * index, the bits for twice the ring are kept.
    */
  case class Plan(pairWidth: Int, sizeWidth: Int) extends Bundle {
    val pair  = UInt(pairWidth bits)
    val index = UInt(sizeWidth bits)
    val count = UInt(log2Up(HeadReader.Line + 1) bits)
    val looks = Bool()
  }
}
