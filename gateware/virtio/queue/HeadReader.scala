// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.queue

import spinal.core._
import spinal.lib._

import lanebox.virtio.vocabulary.{Descriptor, EngineParam, HostRequests, RingFeatures, VirtioParam}
import lanebox.vocabulary.{ModuleName, Request}

/** Reads the next chains of each queue of one direction ahead: their entries in the available ring,
  * in lines of up to 8, and their first descriptors. So a receive queue has buffers ready before
  * its frames come, and a transmit queue has many chains to begin with.
  *
  * {{{
  *   known --> ask --- reads of entries, up to 8 in a line -------------> entry
  *              |                                                           |
  *              +----- reads of the descriptors that are guessed --> guess  |
  *                                                                     |  lines
  *                                                                     |    |
  *   heads <-+-- descriptor <--- reads of descriptors, one by one ----------list
  *           +---------------------------------------------------------+
  * }}}
  *
  * HeadReader does not wait for a line before it asks for descriptors: it guesses their numbers.
  * Drivers either use the head again that was given back last, or the one behind it. HeadReader
  * guesses what was right last. If heads follow one another, one read asks for the descriptors of a
  * whole line, up to the table's end, and the guesses go on in the next line. From the first wrong
  * guess on, the line's descriptors are read one by one. A guess is always inside the table. The
  * descriptor of a right guess is valid, since the driver has written it before it showed the
  * entry.
  *
  * If a queue is not live any more, what was read for it is dropped. While reads for the queue are
  * under way it is stale: nothing more is read for it.
  */
case class HeadReader(p: EngineParam, transmit: Boolean) extends Component {
  ModuleName(this, if (transmit) "transmit" else "receive")
  import HeadReader._
  import HostRequests.Returned
  import VirtioParam.RingHead

  val io = new Bundle {
    val contexts = in(Vec(QueueContext(p.sizeWidth), p.pairs))
    val live     = in Bits (p.pairs bits)
    val features = in(Vec(RingFeatures(p.packed), p.pairs))
    // The available index that is known of each pair.
    val known   = in(Vec(UInt(p.knownWidth bits), p.pairs))
    val pair    = in UInt (p.pairWidth bits)
    val head    = out(Head(p.headWidth))  // The next head of `pair`.
    val take    = in Bool ()              // The head was taken.
    val valid   = out Bits (p.pairs bits) // Bit n: pair n has a head.
    val request = master(Stream(Fragment(Request())))
    // Each beat of `guess` and `descriptor` has one descriptor in its lower half.
    val entry, descriptor, guess = slave(Flow(Fragment(Returned())))
    val reading                  = out Bits (p.pairs bits) // Bit n: reads for pair n are under way.
    val busy                     = out Bool ()
  }
  val number = HardType(UInt(p.sizeWidth - 1 bits))

  def of[T <: Data](parts: Vec[T], pair: UInt): T   = if (p.pairs == 1) parts(0) else parts(pair)
  def bit(bits: Bits, pair: UInt): Bool             = if (p.pairs == 1) bits(0) else bits(pair)
  def mask(context: QueueContext): UInt             = (context.size - 1).resize(p.sizeWidth - 1)
  def at(context: QueueContext, number: UInt): UInt = context.descriptors + (number @@ U"0000")

  /** State of the chains of each queue. Numbers of chains are modulo twice the number of slots. */
  val state = new Area {
    def every[T <: Data](kind: HardType[T]): Vec[T] = Vec(Reg(kind()), p.pairs)
    val next = every(UInt(p.knownWidth bits)) // The index of the chain that is read next.
    val last = every(number)                  // The head that was named last.
    // Bit n: the last head of pair n came behind the head before.
    val upwards              = Reg(Bits(p.pairs bits))
    val stale                = Reg(Bits(p.pairs bits)) init 0
    val asked, stored, taken = every(UInt(log2Up(Slots) + 1 bits)) // Numbers of chains.
    for (each <- asked ++ stored ++ taken) each init 0
  }

  /** Asks for lines (up to 8 entries) of the available ring. */
  val ask = new Area {
    val phase   = RegInit(Step.rest)
    val pair    = Reg(UInt(p.pairWidth bits)) init 0
    val address = Reg(UInt(64 bits)) // Of the line's first entry, then of the guessed descriptor.
    val ahead   = Reg(UInt(p.knownWidth bits))     // Chains that are known and not read.
    val room    = Reg(UInt(log2Up(Line + 1) bits)) // Entries up to the line's end.
    val guesses = Reg(Bool())
    val guess   = Reg(number)
    val run     = Reg(UInt(log2Up(Line + 1) bits)) // Descriptors that are guessed in this line.

    val context = of(io.contexts, pair)
    val next    = of(state.next, pair)
    val within  = mask(context)
    val upwards = bit(state.upwards, pair)
    val likely  = (of(state.last, pair) + upwards.asUInt) & within
    val tail    = (within - guess) +^ U(1, 1 bits) // Descriptors up to the table's end.
    val place   = (next.resize(p.sizeWidth - 1) & within) @@ U"0"
    val ends    = within.resize(log2Up(Line))      // The last entry of a line.
    val count   = (ahead < room) ? ahead.resize(widthOf(room)) | room
    val follow  = (tail < count) ? tail.resize(widthOf(count)) | count
    val guessed = upwards ? follow | U(1, widthOf(count) bits)
    val onEntry = phase === Step.entry
    // The queue's addresses may change as soon as the queue is not live.
    val guessing = guesses && bit(io.live & ~state.stale, pair)
    val offer    = Stream(Fragment(Request()))
    val begins   = offer.fire && onEntry
  }
  val reading = Vec((0 until p.pairs).map { n =>
    state.asked(n) =/= state.stored(n) || (ask.phase =/= Step.rest && ask.pair === n)
  }).asBits
  // HeadReader reads on in a queue when the queue's slots have room for a line.
  val lacks = Vec((0 until p.pairs).map { n =>
    val full = state.asked(n) - state.taken(n) > Slots - Line
    io.live(n) && !state.stale(n) && state.next(n) =/= io.known(n) && !full
  }).asBits

  /** Lines that were asked for, in order, until the descriptors of all their entries were asked
    * for.
    */
  val lines = new Area {
    val Bytes               = 2 * (Line + 1) // The first entry may be in the middle of a dword.
    val asked, came, listed = Reg(UInt(log2Up(Lines) + 1 bits)) init 0
    val answered             = Reg(UInt(log2Up(Lines) + 1 bits)) init 0 // Lines without open guess.
    val guessed              = Reg(Bits(Lines bits))                    // Lines with a guess.
    def at(line: UInt): UInt = line.resize(log2Up(Lines))
    val plans                = Mem(Plan(p.pairWidth), Lines)
    val words                = Mem(Bits(8 * Bytes + 1 bits), Lines)
    val runs                 = Mem(Run(), Lines)
    Seq(plans, words, runs).foreach(_.addAttribute("ram_style", "distributed"))
    val full = asked - listed === Lines
    val some = came =/= listed
    val plan = plans.readAsync(listed.resized)
    val line = words.readAsync(listed.resized)

    val asks = Plan(p.pairWidth)
    asks.pair  := ask.pair
    asks.odd   := ask.address(1)
    asks.count := ask.count
    plans.write(asked.resized, asks, ask.begins)
    words.write(
      came.resized,
      io.entry.failed ## io.entry.data(8 * Bytes - 1 downto 0),
      io.entry.valid
    )
    val run = Run()
    run.count := ask.guessed
    run.whole := ask.guessed === ask.count
    runs.write(asked.resized, run, ask.begins)
    when(ask.begins) {
      asked              := asked + 1
      guessed(at(asked)) := ask.guessing
    }
    val answers = io.guess.valid && io.guess.last
    val skips   = answered =/= asked && !guessed(at(answered))
    when(answers || skips) { answered := answered + 1 }
    when(io.entry.valid) { came := came + 1 }
  }

  // The descriptors that were asked for and have not come, without the guessed one.
  val named = StreamFifo(Named(p.pairWidth, p.sizeWidth), Slots, latency = 1)

  /** Asks for the descriptors that the entries of a line name, one behind the other. */
  val list = new Area {
    val step    = RegInit(Turn.load)
    val done    = Reg(UInt(log2Up(Line + 1) bits)) init 0 // Entries of the line that are done.
    val word    = Reg(UInt(16 bits))
    val failed  = Reg(Bool())
    val source  = Reg(UInt(64 bits))
    val pair    = lines.plan.pair
    val context = of(io.contexts, pair)
    val dropped = bit(state.stale, pair) || !bit(io.live, pair)
    val names   = Named(p.pairWidth, p.sizeWidth)
    names.pair    := pair
    names.number  := word.resize(p.sizeWidth - 1) & mask(context)
    names.tooHigh := word >= context.size
    names.failed  := failed
    val offer = Stream(Fragment(Request()))
    val drops = False // The rest of the line is dropped.
    val ends  = False // The line has no more entries.

    /** Offers the read when `named` has room for its descriptor. An entry is asked for two cycles
      * behind another one at the earliest, so `named` has the other one already.
      */
    def askNext(): Unit = step := (named.io.availability =/= 0) ? Turn.ask | Turn.room
  }

  /** The guessed descriptors, which come in the order in which they were asked for: those of the
    * line `lines.answered`. All that are under way are of one pair, and follow one another.
    */
  val guess = new Area {
    val sure = RegInit(False)              // All guesses since nothing was under way may be right.
    val next = Reg(HeadReader.this.number) // The number that is guessed next.
    val number = Reg(HeadReader.this.number)         // The number of the guess that comes next.
    val pair   = Reg(UInt(p.pairWidth bits))
    val within = Reg(HeadReader.this.number)
    val place  = Reg(UInt(log2Up(Line) bits)) init 0 // Its place in the line.
    val bad    = RegInit(False)                      // A guess of the line was wrong.
    val ready  = RegInit(False)                      // `list.word` is the entry that is compared.
    // The descriptor of a right guess. Its pair is a register of the guess, since the path from the
    // entry is deep. A number beyond the table never equals that of a guess.
    val names = Named(p.pairWidth, p.sizeWidth)
    names.pair    := pair
    names.number  := number
    names.tooHigh := False
    names.failed  := list.failed
    val open = lines.guessed(lines.at(lines.listed)) && lines.answered === lines.listed
    // The guess is of the oldest line, and all earlier descriptors have come.
    // A queue that is not live any more is stale a cycle later, and then drops this head, too.
    val current = lines.answered === lines.listed && ready && !named.io.pop.valid && !bad &&
      !bit(state.stale, list.pair)
    val run   = lines.runs.readAsync(lines.answered.resized)
    val comes = io.guess.valid && place < run.count
    val right = comes && current && list.word === number.resize(16)
    val ends  = right && run.whole && place === run.count - 1 // The line has no more entries.
    val wrong = comes && !right
  }

  // No stream operator sets `valid`, since both offers are states of small machines.
  ask.offer.valid := ask.phase =/= Step.rest
  HostRequests.setRead(
    ask.offer.payload,
    ask.address,
    ask.onEntry ? ((ask.room +^ ask.address(1).asUInt + 1) >> 1).resize(6) | ask.run @@ U"00",
    HostRequests.context(
      transmit,
      ask.onEntry ? U(HostRequests.Entry) | U(HostRequests.Guess)
    )
  )
  list.offer.valid := list.step === Turn.ask
  HostRequests.setRead(
    list.offer.payload,
    list.source,
    U(4),
    HostRequests.context(transmit, U(HostRequests.Descriptor))
  )

  /** The two offers. `ask` goes first, unless the other one was there a cycle earlier. No arbiter of
    * the library: whether anything is offered depends on two registers only, since the path from
    * here through the engine's arbiter is deep.
    */
  val merge = new Area {
    val listed = RegInit(False) // In the cycle before, the offer was that of `list`.
    val asks   = ask.offer.valid && !(listed && list.offer.valid)
    listed             := list.offer.valid && !asks
    io.request.valid   := ask.offer.valid || list.offer.valid
    io.request.payload := asks ? ask.offer.payload | list.offer.payload
    ask.offer.ready    := io.request.ready && asks
    list.offer.ready   := io.request.ready && !asks
  }

  // Each queue has one selection for both addresses, which takes less than one of each for all.
  val bases  = Vec(io.contexts.map(of => ask.onEntry ? of.descriptors | of.available))
  val offset = ask.onEntry ? (ask.guess @@ U"0000") | (ask.place +^ U(RingHead, 4 bits)).resized
  when(ask.phase === Step.rest || ask.offer.ready) { ask.address := of(bases, ask.pair) + offset }
  switch(ask.phase) {
    is(Step.rest) {
      val low = ask.next.resize(log2Up(Line)) & ask.ends
      ask.ahead := of(io.known, ask.pair) - ask.next
      ask.room  := (ask.ends - low) +^ U(1, 1 bits)
      val alone  = lines.asked === lines.listed && !named.io.pop.valid // Nothing is under way.
      val number = alone ? ask.likely | guess.next
      ask.guess   := number
      ask.guesses := alone || (guess.sure && guess.pair === ask.pair)
      when(alone) {
        guess.sure   := True
        guess.number := number
      }
      when(!lines.full) {
        when(bit(lacks, ask.pair)) { ask.phase := Step.entry } elsewhen (lacks.orR) {
          ask.pair := (if (p.pairs == 1) U(0) else OHToUInt(OHMasking.first(lacks))).resized
        }
      }
    }
    is(Step.entry) {
      ask.run := ask.guessed
      when(ask.offer.ready) {
        ask.phase := ask.guessing ? Step.guess | Step.rest
        when(!ask.guessing) { guess.sure := False }
      }
    }
    is(Step.guess)(when(ask.offer.ready) {
      ask.phase    := Step.rest
      guess.next   := (ask.guess + ask.run.resize(p.sizeWidth).resized) & ask.within
      guess.pair   := ask.pair
      guess.within := ask.within
      when(!ask.upwards || ask.run =/= ask.count) { guess.sure := False }
    })
  }

  val entries = lines.line(8 * lines.Bytes - 1 downto 0).subdivideIn(16 bits)
  // Behind an entry that is compared with a guess, the next one follows.
  val following = list.done + lines.plan.odd.asUInt + (guess.open && guess.ready).asUInt
  val entry     = entries(following).asUInt
  switch(list.step) {
    is(Turn.load) {
      when(lines.some) {
        when(guess.open) {
          when(!guess.ready) {
            list.word   := entry
            list.failed := lines.line.msb
            guess.ready := True
          }
          when(guess.right) {
            list.word := entry
            list.done := list.done + 1
          }
          when(guess.wrong && guess.current)(list.askNext())
          list.source := at(list.context, list.names.number)
        } elsewhen (list.dropped) {
          // A head that comes in this cycle changes `stored`, too, and one of the changes would be
          // lost. So the rest of the line is dropped in a cycle in which no head comes.
          list.drops := !io.descriptor.valid && !io.guess.valid
        } elsewhen (list.done === lines.plan.count) {
          list.ends := True
        } otherwise {
          list.word   := entry
          list.failed := lines.line.msb
          list.step   := Turn.point
        }
      }
    }
    is(Turn.point) {
      list.source := at(list.context, list.names.number)
      when(list.dropped) { list.step := Turn.load } otherwise list.askNext()
    }
    is(Turn.room)(list.askNext())
    is(Turn.ask)(when(list.offer.fire) {
      list.done := list.done + 1
      list.step := Turn.load
    })
  }
  // A guessed descriptor may come in the cycle behind its entry.
  when(io.entry.valid && lines.came === lines.listed) {
    list.word   := io.entry.data.subdivideIn(16 bits)(lines.plan.odd.asUInt.resized).asUInt
    list.failed := io.entry.failed
    guess.ready := True
  }
  when(guess.comes) {
    guess.number := (guess.number + 1) & guess.within
    guess.place  := guess.place + 1
  }
  when(guess.wrong) {
    guess.bad  := True
    guess.sure := False
  }
  when(list.offer.fire) { guess.sure := False }
  when(lines.answers) {
    guess.place := 0
    guess.bad   := False
  }
  when(list.drops || list.ends || guess.ends) {
    lines.listed := lines.listed + 1
    list.done    := 0
    guess.ready  := False
  }
  // No stream operator fits: an offer is made only if `named` has room, so both are taken together.
  named.io.push.valid   := list.offer.fire
  named.io.push.payload := list.names
  assert(!named.io.push.valid || named.io.push.ready, "a named descriptor has no room")

  /** A descriptor that has come from host memory: a guessed one, or the oldest one in `named`. */
  val come = new Area {
    val which   = io.guess.valid ? guess.names | named.io.pop.payload
    val context = of(io.contexts, which.pair)
    val head    = Head(p.headWidth)
    head.number     := which.number.resized
    head.tooHigh    := which.tooHigh
    head.failed     := which.failed || io.descriptor.failed
    head.descriptor := Descriptor(io.descriptor.data(127 downto 0))
    head.faults :=
      head.descriptor.faults(transmit, of(io.features, which.pair), context.size, False)
    head.plain := head.descriptor.isPlain(transmit) && !head.failed && !head.tooHigh
    val keeps = io.descriptor.valid || guess.right
    // No stream operator fits: descriptors come as a flow, in the order of `named`.
    named.io.pop.ready := io.descriptor.valid
  }

  /** Heads that were read, in slots of their queues. */
  val slots = new Area {
    val memory = Mem(Bits(Head.width(p.headWidth) bits), p.pairs * Slots)
    memory.addAttribute("ram_style", "distributed")
    def place(pair: UInt, counts: Vec[UInt]): UInt = {
      val slot = of(counts, pair).resize(log2Up(Slots))
      if (p.pairs == 1) slot else (pair @@ slot).resize(memory.addressWidth)
    }
    memory.write(place(come.which.pair, state.stored), come.head.packed, come.keeps)
    val first = place(io.pair, state.taken)
    val found = memory.readAsync(first)
    io.head.unpack(found)
  }

  val behind = of(state.last, list.pair) + 1
  // The number that is added to `stored`. It does not depend on whether a guess is right, whose
  // path is deep.
  val more = (io.descriptor.valid || io.guess.valid) ? U(1, widthOf(lines.plan.count) bits) |
    (lines.plan.count - list.done)
  val keeps = (0 until p.pairs).map(n => come.keeps && come.which.pair === n)
  val takes = (0 until p.pairs).map(n => io.take && io.pair === n)
  val held  = Vec.fill(p.pairs)(RegInit(False)) // A head of the queue is in its slot.
  for (n <- 0 until p.pairs) {
    when(ask.begins && ask.pair === n) {
      state.next(n)  := state.next(n) + ask.count
      state.asked(n) := state.asked(n) + ask.count
    }
    when(keeps(n) || (list.drops && list.pair === n)) {
      state.stored(n) := state.stored(n) + more
    }
    when((list.offer.fire || guess.right) && list.pair === n) {
      state.last(n) := list.names.number
      when(list.names.number === behind) { state.upwards(n) := True }
      when(list.names.number === state.last(n)) { state.upwards(n) := False }
    }
    when(takes(n)) { state.taken(n) := state.taken(n) + 1 }
    state.stale(n) := reading(n) && (state.stale(n) || !io.live(n))
    when(state.stale(n) || !io.live(n)) {
      state.taken(n) := state.stored(n)
      state.next(n)  := 0
      // A new driver's first head is likely to be 0, and the next ones to follow it.
      state.last(n).setAll()
      state.upwards(n) := True
    }
    // The comparison is a register, since the begin of a chain is deep.
    val left = state.stored(n) - state.taken(n)
    val some = (takes(n) ? (left > 1) | (left =/= 0)) || keeps(n)
    // So a queue that becomes stale has lost its head in the same cycle.
    held(n)     := some && !state.stale(n) && io.live(n)
    io.valid(n) := held(n)
  }
  io.reading := reading
  io.busy    := reading.orR || lacks.orR
}

object HeadReader {
  val Slots = 32 // Chains of a queue that are read ahead at the most. A power of two.
  val Line  = 8  // The most entries of a line. A line ends at a multiple of this number.
  val Lines = 8  // Lines that are under way at the most.

  /** The first descriptor of a chain, and its number in the table, or its ID. */
  case class Head(numberWidth: Int) extends Bundle {
    val number     = UInt(numberWidth bits)
    val tooHigh    = Bool() // The number in the ring is beyond the table.
    val failed     = Bool() // A read of the entry or the descriptor failed.
    val plain      = Bool() // The head has no fault, and its descriptor is plain.
    val faults     = Descriptor.Faults()
    val descriptor = Descriptor()

    private def parts: Seq[Data] = Seq(number, tooHigh, failed, plain) ++ faults.flatten ++
      descriptor.elements.collect { case (_, part) if part ne descriptor.reserved => part }

    /** Returns all bits but the reserved ones. */
    def packed: Bits = Cat(parts)

    /** Sets the fields from bits that `packed` has returned. */
    def unpack(bits: Bits): Unit = {
      descriptor.reserved := 0
      for ((part, at) <- parts.zip(parts.scanLeft(0)(_ + widthOf(_))))
        part.assignFromBits(bits(at, widthOf(part) bits))
    }
  }
  object Head {
    def width(numberWidth: Int): Int = numberWidth + 3 + widthOf(Descriptor.Faults()) + 128 - 13
  }

  /** A line of entries whose read has not been answered yet: its first entry is in the upper half
    * of a dword if it is `odd`, and the line has `count` entries.
    */
  case class Plan(pairWidth: Int) extends Bundle {
    val pair  = UInt(pairWidth bits)
    val odd   = Bool()
    val count = UInt(log2Up(Line + 1) bits)
  }

  /** How many descriptors were guessed for a line, and whether these are all of the line. */
  case class Run() extends Bundle {
    val count = UInt(log2Up(Line + 1) bits)
    val whole = Bool()
  }

  /** A descriptor that an entry names. `failed` says that the entry's read failed. */
  case class Named(pairWidth: Int, sizeWidth: Int) extends Bundle {
    val pair    = UInt(pairWidth bits)
    val number  = UInt(sizeWidth - 1 bits)
    val tooHigh = Bool()
    val failed  = Bool()
  }

  /** `rest` waits for chains, `entry` asks for a line, and `guess` for the
    * descriptors that its entries are likely to name. The paths from the state are deep.
    */
  object Step extends SpinalEnum(binaryOneHot) {
    val rest, entry, guess = newElement()
  }

  /** `load` takes the next entry of a line, `point` computes where its descriptor is, `room` waits
    * for room in `named`, and `ask` asks for the descriptor. The paths from the state are deep.
    */
  object Turn extends SpinalEnum(binaryOneHot) {
    val load, point, room, ask = newElement()
  }
}
