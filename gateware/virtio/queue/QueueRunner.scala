// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.queue

import spinal.core._
import spinal.lib._
import spinal.lib.fsm._

import lanebox.virtio.vocabulary.{
  Descriptor,
  EngineParam,
  HostBuffer,
  HostRequests,
  Moved,
  RingFeatures,
  Violation,
  VirtioParam
}
import lanebox.vocabulary.ModuleName

/** Serves the queues of one direction, one queue after the other: it takes the heads of chains from
  * HeadReader, gives their buffers to a mover, and writes the used ring.
  *
  * {{{
  *   pick -> serve -+-> [index] -> head -> check -> move -> elements, count
  *     ^            +---------------^ ^    ^ ^       | ^             |  |
  *     |                              |    | +-------+ +-------------+  |
  *     |                              |    +---------+  (chains in Flight)
  *     |                              |  [further descriptors]          |
  *     |                              +---------------------------------+
  *     +---- decide <- [index] <- [event] <- arm <- settle <- (no more chains, or no frame)
  * }}}
  *
  * A chain of one plain buffer need not end before the next one begins: `move` goes on with the
  * next chain if that is plain, too. In a transmit queue the frame store has to have room for both,
  * and in a receive queue each chain has to have room for its frame. Their data comes, or is
  * written, in order. When no chain can begin, the elements of all chains whose data has come are
  * written, and then one used index for them. A queue is left when no data is on its way.
  *
  * States in brackets read host memory, and `head` waits until HeadReader has read the next chain.
  * When there is nothing more to do, the device asks to be notified of the next chain (`arm`) and
  * reads the available index again before it rests, since the driver may have added a chain before
  * it saw that. The event index or flag that the device reads behind its write of the used index
  * decides about the interrupt, so a driver that looks for used entries after it has allowed
  * interrupts misses none. If the driver wanted the last interrupt, it gets the next one before
  * that read, which then only decides whether the one after that also comes early.
  *
  * If a queue is not live any more, its chain is given up as soon as no read of the chain is under
  * way and its data is in ReceiveMover's queue. That data still leaves, ahead of what the runner
  * asks for later. With `drain` and all queues at rest, the runner reads host memory. When the data
  * comes, all writes are in host memory, since no read passes a write. Then `drained` rises.
  */
case class QueueRunner(p: EngineParam, transmit: Boolean) extends Component {
  ModuleName(this, if (transmit) "transmit" else "receive")
  import QueueRunner._
  import RingAccess.{Put, Task}
  import RingAim.Ring
  import VirtioParam.RingHead

  val io = new Bundle {
    val contexts = in(Vec(QueueContext(p.sizeWidth), p.pairs))
    val live     = in Bits (p.pairs bits)
    val features = in(Vec(RingFeatures(p.packed), p.pairs))
    val kick     = in(Kick(p.pairs))
    val drain    = in Bits (p.pairs bits)
    val drained  = out Bits (p.pairs bits)
    // `head` is the next head that HeadReader has read for `pair`, and `read` has the pairs for
    // which it has one. `known` says how far HeadReader may read, and `take` that a head was taken.
    val head    = in(HeadReader.Head(p.headWidth))
    val read    = in Bits (p.pairs bits)
    val reading = in Bits (p.pairs bits) // Bit n: HeadReader has reads under way for pair n.
    val take    = out Bool ()
    val known   = out(Vec(UInt(p.knownWidth bits), p.pairs))
    val ask     = master(Stream(HostRequests.Place(5)))
    val answer  = slave(Flow(RingReader.Answer()))
    val write   = master(Stream(RingWriter.Write()))
    val buffer  = master(Stream(HostBuffer()))
    val moved   = slave(Flow(Moved(p.frameWidth)))
    // The buffer is `alone` in its chain, and the next chain may begin while its data is out.
    val alone = out Bool ()
    // Bit n: pair n has room for one more chain that is `alone`.
    val room   = in Bits (p.pairs bits)
    val idle   = in Bool ()                  // The mover takes a buffer at once.
    val length = in UInt (p.frameWidth bits) // Of the frame that waits for buffers of `pair`.
    val fresh  = in Bool ()                  // No part of that frame was written.
    val done   = in Bool () // The data of the oldest chain that is `alone` has come, or is written.
    val failed = in Bool () // With `done`: a read of that data has failed.
    val quiet  = in Bool () // The mover has no buffer, and no data is on its way.
    // A chain that is `done` makes no frame: the queue was not live, or a read of its data failed.
    val voids = out Bool ()
    // For each pair: a frame waits for buffers, or there is room for a frame. Otherwise no chain is
    // begun.
    val frames = in Bits (p.pairs bits)
    val pair   = out UInt (p.pairWidth bits) // The pair whose chain is under way.
    val ended  = out Bool ()                 // The chain has ended: all its data was moved.
    val gaveUp = out Bool ()                 // The chain was given up.
    // The chain has ended, but not its frame, which is lost: the device receives whole frames.
    val overran = out Bool ()
    // The chains of the frame under way, with the present one. All become used together.
    val chains    = out UInt (8 bits)
    val posted    = in Bool ()  // All writes have been handed over to the endpoint.
    val announced = out Bits (p.pairs bits)
    val violation = master(Flow(Violation()))
    val rests     = out Bool () // No queue is being served.
    val busy      = out Bool ()
    val looks     = p.packed generate master(Looks(p.pairs))
  }

  val state = QueueStates(p)
  // A queue that has chains left is served again when a frame comes, or when there is room again.
  val wanted = io.live & (state.kicked | (state.waiting & io.frames & io.read))
  val queue  = Reg(UInt(p.pairWidth bits)) init 0
  val clean  = Reg(Bits(p.pairs bits)) init 0 // Drained pairs: all their writes are in host memory.

  /** After ChainsInTurn chains a queue gives way to other queues that wait, and to a reset. */
  val turn = new Area {
    val chains        = Reg(UInt(log2Up(ChainsInTurn) + 1 bits)) init 0
    val rivals        = RegNext(wanted) init 0
    val others        = (rivals & ~UIntToOh(queue, p.pairs)).orR || (io.drain & ~clean).orR
    val over          = RegNext(chains === ChainsInTurn && others) init False
    def count(): Unit = when(chains =/= ChainsInTurn) { chains := chains + 1 }
  }

  // The queue behind the one that was served last goes first.
  val chosen = of(Vec((0 until p.pairs).map { n =>
    val order = (1 to p.pairs).map(i => U((n + i) % p.pairs, p.pairWidth bits))
    order.init.foldRight(order.last)((one, rest) => wanted(one) ? one | rest)
  }))

  def of[T <: Data](vector: Vec[T]): T = if (p.pairs == 1) vector(0) else vector(queue)
  def bit(bits: Bits): Bool            = if (p.pairs == 1) bits(0) else bits(queue)

  // The rings of the queue that was picked last. They stay as they were then, even if the driver
  // sets the queue up anew, so nothing is read or written where no ring was.
  val context = Reg(QueueContext(p.sizeWidth))
  val taken   = of(state.taken)
  val known   = of(state.known)
  val used    = of(state.used)
  val told    = of(state.told)
  val size    = context.size
  val frame   = bit(io.frames)
  val cut     = RegInit(False) // The queue was not live at some time since it was picked.
  // Something was written since a read last showed that all writes had arrived.
  val wrote    = RegInit(False)
  val features = RegNext(of(io.features))
  val packed   = if (p.packed) Some(features.packed) else None

  /** Does `body` for a packed ring, and `other` for a split one. */
  def forPacked(body: => Unit)(other: => Unit): Unit =
    if (p.packed) when(features.packed)(body).otherwise(other) else other

  /** Returns what holds for a packed ring or for a split one. */
  def choose[T <: Data](body: => T, other: T): T = packed.fold(other)(Mux(_, body, other))
  io.drained := clean & ~io.reading
  io.pair    := queue
  io.known   := state.known

  val pending = of(state.pending)
  // Where the next element is written.
  val slot = RegNext(used + choose(if (p.packed) of(state.span) else pending, pending))
  // The frame under way has as many chains as the queue has entries. `spent` is a cycle late, so
  // the state `check` uses it.
  // The driver of a packed ring may also offer more descriptors than are its own.
  val spent =
    if (p.packed) RegNext(choose(taken - used > size, Bool(!transmit) && pending === size))
    else if (transmit) False
    else RegNext(pending === size)
  io.chains := pending.resize(8) + 1

  val aim = RingAim(context, packed)

  val chain = new Area {
    val head    = Reg(UInt(p.headWidth bits))  // Number of the first descriptor, or ID.
    val entry   = Reg(UInt(16 bits))           // Number of the descriptor in its table.
    val inTable = Reg(Bool())                  // The descriptors are those of an indirect table.
    val limit   = Reg(UInt(16 bits))           // Descriptors in the table, at most 65535 of them.
    val count   = Reg(UInt(p.sizeWidth bits))
    val bytes   = Reg(UInt(p.frameWidth bits)) // Bytes that were written to the chain.
    val more    = Reg(Bool())                  // Another descriptor follows.
    val split   = Reg(Bool())                  // The frame goes on in the next chain.
    val beyond  = Reg(Bool())                  // The first descriptor is none of the table.
    val alone = RegInit(False) // The next chain may begin before the data of this one comes.
    val tiny  = bytes < VirtioParam.NetHeader
    // Descriptors of a packed ring that the chain has.
    val spans = p.packed generate Reg(UInt(p.sizeWidth bits))
    // The chain waits for a further descriptor of a packed ring.
    val gathers = p.packed generate RegInit(False)
    val skips   = p.packed generate Reg(Bool()) // Nothing is moved to the chain's further buffers.
  }

  // A transmit queue's chain is used with 0 bytes.
  val header = if (transmit) chain.head.asBits else io.length ## chain.head
  val flight = Flight(header, io.done, io.failed)
  io.voids := cut || flight.broken

  val answer = Reg(RingReader.Answer())
  val first  = io.head     // The head of the next chain, which HeadReader has read ahead.
  val goal   = Reg(Task()) // The runner's next read.
  // The state machine sets `io.take`, and takes no head while an answer is to come. One enable for
  // both sources saves a multiplexer. The choice does not depend on `io.take`, whose path is deep.
  when(io.answer.valid || io.take) {
    answer.data   := io.answer.valid ? io.answer.data | first.descriptor.asBits
    answer.failed := io.answer.valid ? io.answer.failed | first.failed
  }
  assert(!(io.answer.valid && io.take), "a head is taken while an answer comes")
  when(io.answer.valid) {
    forPacked(when(goal === Task.descriptor) {
      val behind = chain.entry + 1
      val word   = io.answer.data
      answer.data :=
        PackedRing.descriptor(word, True, behind < chain.limit, behind).asBits
    })()
  }

  // The descriptor in `answer`. `loops` and `faults`, a cycle later, say what is wrong with it.
  val descriptor = Descriptor(answer.data)
  val loops      = Reg(Bool())
  loops := chain.count === size
  val faults = Reg(Descriptor.Faults())
  faults := descriptor.faults(transmit, features, chain.limit, chain.inTable)
  // In a packed ring the next descriptor is the next one of the ring, and a table has no others
  // beside it.
  forPacked {
    faults.badNext := False
    when(chain.count =/= 0) { faults.badTable := True }
  }()

  val goesOn   = if (transmit) False else !io.moved.ended && bit(B(p.whole, p.pairs bits))
  val overruns = goesOn && !features.merge
  val newest   = answer.data(31 downto 16).asUInt // The available index, if that was read.
  val compare =
    IndexComparison(
      size,
      taken,
      known,
      newest,
      of(state.hint),
      bit(state.hinted),
      packed.map(_ => of(io.features).packed) // Of the queue that is being picked.
    )
  val empty = bit(state.empty)
  // The driver of a packed ring says in its event structure whether its index decides.
  val byIndex = p.packed generate Reg(Bool())
  val interrupt =
    InterruptDecision(
      p.patience,
      used,
      told,
      bit(state.untold),
      bit(state.eager),
      choose(features.eventIndex && byIndex, features.eventIndex),
      packed.map(_ ? PackedRing.lap(size) | U(0xffff, 16 bits))
    )
  val puts = Reg(Put()) // The runner's next write.
  val length =
    choose(RingAccess.packedBytes(goal), RingAccess.bytes(goal))

  val element = {
    val (number, bytes) =
      (flight.oldest.resize(p.headWidth), flight.oldest >> p.headWidth)
    val written = if (transmit) chain.bytes else flight.some ? bytes.asUInt | chain.bytes
    val moved   = written.resize(32)
    val head    = flight.some ? number.asUInt | chain.head
    choose(
      PackedRing.element(moved.asBits, head.asBits, aim.wrap.get, !transmit),
      moved ## head.resize(32)
    )
  }
  val word = puts.mux(
    Put.element -> element,
    Put.count -> choose(
      PackedRing.element(of(state.held) >> 16, of(state.held).resize(16), aim.wrap.get, !transmit),
      B(0, 32 bits) ## aim.index ## B(0, 16 bits)
    ),
    Put.eventIndex -> choose(
      B(0, 46 bits) ## features.eventIndex ## False ## PackedRing.place(taken, size),
      taken.asBits.resize(64)
    )
  )
  // No stream operator fits: a state of the machine is the offer to `ask`, `write` or `buffer`.
  io.ask.valid                := False
  io.ask.address              := aim.address
  io.ask.bytes                := length
  io.write.valid              := False
  io.write.address            := aim.address
  io.write.pair               := choose(puts =/= Put.eventIndex, puts === Put.element)
  io.write.half               := choose(False, puts === Put.eventIndex)
  io.write.data               := word
  io.buffer.valid             := False
  io.buffer.address           := descriptor.address
  io.buffer.bytes             := descriptor.bytes
  io.alone                    := chain.alone
  io.ended                    := False
  io.gaveUp                   := False
  io.take                     := False
  io.overran                  := False
  io.announced                := 0
  if (p.packed) io.looks.look := False
  // The report is a cycle late. The runner then still has the queue, and is in the state `leave`.
  val violation = Flow(Violation())
  io.violation << violation.m2sPipe
  violation.valid   := False
  violation.payload := Violation.none
  val heard = False // The queue's notification is being acted on.

  val hint = NotifiedIndex(p, state, io.contexts, io.features, io.kick)

  val stable = Bool() // The queue's next head and next frame are those of the next cycle, too.
  // The next chain has room for all of the next frame. Two registers, since the path through the
  // comparison is deep.
  val enough = RegNext(first.descriptor.bytes >= io.length)
  val fits   = Bool(transmit) || (enough && RegNext(stable && io.fresh))

  val machine = new StateMachine {
    setEncoding(binaryOneHot) // The paths from the state to the endpoint's port are deep.
    val pick                                                      = new State with EntryPoint
    val serve, ask, await, look, judge, head, follow, check, move = new State
    val put, settle, question, decide, conclude, leave, enter     = new State
    val peek, gather, skip, hold, linger                          = p.packed generate new State
    // The state `look` waits for a cycle, since the checks of an answer are in registers.
    def read(what: Task.E): Unit = {
      goal := what
      goto(ask)
    }
    def violate(what: Violation.E): Unit = {
      violation.valid   := True
      violation.payload := what
      goto(leave)
    }

    /** Looks in the ring for descriptors that are not known yet. */
    def lookFurther(): Unit = forPacked {
      goal := Task.index
      goto(peek)
    } {
      aim(Ring.available, 0)
      read(Task.index)
    }

    /** Takes over an available index that is ahead of the one that was known. */
    def learn(index: UInt): Unit = {
      known := index.resized
      for (n <- 0 until p.pairs) when(queue === n) { state.empty(n) := False }
    }

    /** Takes the next head, whose descriptor the state `check` examines. */
    def takeHead(further: Boolean): Unit = {
      io.take := True
      faults  := first.faults
      if (further) when(first.descriptor.indirect) { faults.badTable := True }
      chain.head := first.number
      taken      := taken + 1
    }

    /** Begins a chain with the next head. */
    def begin(alone: Bool): Unit = {
      takeHead(further = false)
      chain.alone  := alone
      chain.split  := False
      chain.beyond := first.tooHigh && !first.failed
      if (p.packed) {
        chain.spans := 1
        chain.skips := False
      }
      turn.count()
    }
    val joins = first.plain && bit(io.room) && fits
    // As `joins`, but from registers.
    val plain = RegNext(!isActive(pick) && bit(io.read) && !io.take && first.plain) init False
    // `plain` says that the queue had a head in the cycle before, which was not taken. It has it
    // still, unless the queue was cut. In a receive queue `fits` says the same of the frame.
    val overlaps = plain && bit(io.room) && fits && (if (transmit) frame else True) && io.idle &&
      !flight.full && !interrupt.waits.over && !turn.over
    stable := !isActive(pick) && bit(io.read) && frame && !io.take && !io.buffer.fire &&
      !io.moved.valid

    def announce(): Unit = for (n <- 0 until p.pairs) io.announced(n) := queue === n

    pick.whenIsActive {
      flight.clear()
      if (p.packed) chain.gathers := False
      cut                         := False
      interrupt.hurried           := False
      interrupt.settling          := False
      when((io.drain & ~clean).orR) {
        aim(Ring.used, 0)
        when(wrote)(read(Task.flush)) otherwise (clean := io.drain)
      } elsewhen (wanted.orR) {
        queue       := chosen
        context     := (if (p.pairs == 1) io.contexts(0) else io.contexts(chosen))
        turn.chains := 0
        // `turn.over` was computed for the queue that was served before.
        turn.over := False
        val kicked = if (p.pairs == 1) state.kicked(0) else state.kicked(chosen)
        when(kicked)(goto(enter)) otherwise goto(head)
      }
    }
    // In this cycle the hint of the picked queue is compared. A notification that comes later is
    // served when the queue is picked again.
    enter.whenIsActive {
      heard := True
      goto(serve)
    }
    serve.whenIsActive {
      when(cut)(goto(leave)) elsewhen (compare.hintFits) {
        when(compare.hintAdds)(learn(compare.hintIndex))
        goto(head)
      } otherwise {
        // In a packed ring nothing is looked for while something is known.
        forPacked(when(empty)(lookFurther()) otherwise goto(head))(lookFurther())
      }
    }
    ask.whenIsActive {
      io.ask.valid := aim.ready
      when(io.ask.fire)(goto(await))
    }
    await.whenIsActive(when(io.answer.valid)(goto(look)))
    look.whenIsActive {
      when(goal === Task.descriptor)(goto(check)) otherwise goto(judge)
    }
    judge.whenIsActive {
      when(goal === Task.flush) {
        wrote := False
        clean := io.drain
        goto(pick)
      } elsewhen (cut)(goto(leave)) elsewhen (answer.failed)(violate(Violation.read)) otherwise {
        switch(goal) {
          is(Task.index) {
            when(compare.tooFar)(violate(Violation.index)) otherwise {
              when(compare.further)(learn(newest))
              forPacked {} { interrupt.silent := answer.data(0) }
              when(interrupt.settling)(goto(decide)) otherwise goto(head)
              forPacked(when(chain.gathers) {
                when(empty && !compare.further)(violate(Violation.nextEntry)) otherwise goto(gather)
              })()
            }
          }
          default { // Task.eventIndex
            interrupt.event := answer.data(15 downto 0).asUInt
            forPacked {
              val place = answer.data(15 downto 0).asUInt
              interrupt.event  := PackedRing.ahead(place, U(0, 16 bits), size)
              interrupt.silent := answer.data(17 downto 16) === PackedRing.Never
              byIndex          := answer.data(17 downto 16) === PackedRing.AtPlace
            }()
            when(empty)(lookFurther()) otherwise goto(decide)
          }
        }
      }
    }
    head.whenIsActive {
      chain.inTable := False
      chain.limit   := size.resized
      chain.count   := 0
      chain.bytes   := 0
      loops         := False // `count` was that of the chain before.
      when(cut)(goto(leave)) elsewhen (
        empty || !frame || interrupt.waits.over || turn.over
      ) {
        // An interrupt passes no write that was handed over before it: `posted` says that all were.
        when(!interrupt.hasty || io.posted) {
          interrupt.hurried := interrupt.hasty
          when(interrupt.hasty)(announce())
          goto(settle)
        }
      } elsewhen (bit(io.read)) {
        begin(joins)
        goto(check)
      }
    }
    follow.whenIsActive {
      // A descriptor has the same offset in the queue's table and in an indirect one. Only the base
      // address differs.
      aim(Ring.descriptors, chain.entry @@ U"0000")
      when(chain.inTable)(aim.ring := Ring.indirect)
      read(Task.descriptor)
      forPacked(when(!chain.inTable)(goto(gather)))()
    }
    if (p.packed) {
      gather.whenIsActive {
        chain.gathers := True
        when(cut)(goto(leave)) elsewhen (bit(io.read)) {
          takeHead(further = true)
          chain.spans   := chain.spans + 1
          chain.more    := first.descriptor.more
          chain.gathers := False
          when(chain.skips)(goto(skip)) otherwise goto(check)
        } elsewhen (empty)(lookFurther())
      }
      // The look passes no write. So it sees every descriptor that the driver has added without a
      // notification.
      peek.whenIsActive {
        io.looks.look             := io.posted
        answer.failed             := io.looks.failed
        answer.data(31 downto 16) := of(io.looks.next).asBits
        when(io.looks.looked)(goto(look))
      }
      // A frame may end in front of the chain's last descriptor, which has the ID.
      skip.whenIsActive {
        chain.skips := True
        when(cut)(goto(leave)) elsewhen (answer.failed)(violate(Violation.read)) elsewhen (
          spent
        )(violate(Violation.index)) elsewhen (chain.more && !chain.inTable)(goto(gather)) elsewhen (
          chain.split && pending === 0
        )(goto(hold)) otherwise goto(put)
      }
      // The driver may use the frame's chains when it sees the first element, which is written last.
      hold.whenIsActive {
        for (n <- 0 until p.pairs) when(queue === n && !cut) {
          state.held(n)    := chain.bytes ## chain.head.resize(16)
          state.pending(n) := 1
          state.span(n)    := chain.spans
        }
        when(cut)(goto(leave)) elsewhen (chain.tiny)(violate(Violation.tiny)) otherwise goto(head)
      }
      // `slot` and `spent` are registers behind `used`: they are up to date in the next cycle.
      linger.whenIsActive(goto(head))
    }
    check.whenIsActive {
      chain.more  := descriptor.more
      chain.entry := descriptor.next
      when(cut)(goto(leave)) elsewhen (chain.beyond)(violate(Violation.head)) elsewhen (
        spent
      )(violate(Violation.index)) elsewhen (
        answer.failed
      )(violate(Violation.read)) elsewhen (
        descriptor.indirect
      ) {
        aim.table     := descriptor.address
        chain.inTable := True
        chain.entry   := 0
        chain.limit   := (descriptor.bytes >> 20 =/= 0) ? U(0xffff) | descriptor.bytes(19 downto 4)
        when(faults.badTable)(violate(Violation.indirect)) otherwise goto(follow)
      } elsewhen (faults.empty)(violate(Violation.empty)) elsewhen (faults.wrongWay) {
        violate(Violation.direction)
      } elsewhen (loops)(violate(Violation.endless)) elsewhen (faults.badNext) {
        violate(Violation.nextEntry)
      } otherwise {
        io.buffer.valid := True
        when(!flight.some)(aim.element(slot))
        when(io.buffer.ready) {
          when(chain.alone) { flight.begins := True } otherwise { chain.count := chain.count + 1 }
          if (!transmit) wrote := True
          goto(move)
        }
      }
    }
    move.whenIsActive {
      puts := Put.element
      when(chain.alone) {
        when(cut)(
          goto(leave)
        ) elsewhen (flight.index.owed && (flight.index.over || flight.broken)) {
          puts := Put.count
          aim(Ring.used, 0)
          goto(put)
        } elsewhen (flight.broken)(violate(Violation.read)) elsewhen (overlaps) {
          begin(True)
          goto(check)
        } elsewhen (flight.due)(goto(put))
      } elsewhen (io.moved.valid) {
        chain.bytes := chain.bytes + io.moved.bytes
        when(cut)(goto(leave)) elsewhen (io.moved.failed)(violate(Violation.read)) elsewhen (
          chain.more && !io.moved.ended
        )(goto(follow)) otherwise {
          io.ended    := True
          chain.split := goesOn && features.merge
          when(overruns) {
            io.overran  := True
            chain.bytes := 0
          }
          forPacked(goto(skip))(goto(put))
        }
      }
      // In the state `check` it is not known yet.
      if (p.packed) when(spent && !cut)(violate(Violation.index))
    }

    /** The used index moves ahead. */
    def use(index: UInt): Unit = {
      used := index
      for (n <- 0 until p.pairs) when(queue === n) { state.untold(n) := True }
    }

    /** An element was written to a split ring. */
    def useSplit(): Unit = {
      // After a cut the element may be one of the queue as it was before. The indices then
      // already belong to the queue as it is now, and begin with 0.
      when(!cut) {
        when(!chain.split)(use(slot + 1))
        pending := chain.split ? (pending + 1) | U(0, p.sizeWidth bits)
      }
      aim.index   := aim.next
      flight.uses := True
      when(flight.some && flight.others && !flight.index.full && !cut) {
        aim.element(slot + 1)
        flight.index.defer()
        when(!flight.more)(goto(move))
      } elsewhen (!chain.split) {
        puts := Put.count
        aim(Ring.used, 0)
      } elsewhen (chain.tiny)(violate(Violation.tiny)) otherwise goto(head)
    }

    /** An element was written to a packed ring, where it needs no index. */
    def usePacked(): Unit = {
      flight.uses := True
      when(flight.some && flight.others && !cut) {
        use(used + 1)
        aim.element(slot + 1)
        when(!flight.more)(goto(move))
      } elsewhen (chain.split) {
        when(!cut) {
          pending := pending + 1
          for (n <- 0 until p.pairs) when(queue === n) {
            state.span(n) := state.span(n) + chain.spans
          }
        }
        when(chain.tiny)(violate(Violation.tiny)) otherwise goto(linger)
      } elsewhen (pending =/= 0) {
        puts := Put.count
        aim.element(used)
      } otherwise {
        when(!cut)(finish())
        goto(linger)
      }
    }

    /** All elements of a frame in a packed ring were written. */
    def finish(): Unit = {
      use(slot + chain.spans)
      pending := U(0, p.sizeWidth bits)
      for (n <- 0 until p.pairs) when(queue === n) { state.span(n) := 0 }
    }
    put.whenIsActive {
      io.write.valid := aim.ready
      when(io.write.fire) {
        wrote := True
        switch(puts) {
          is(Put.element)(forPacked(usePacked())(useSplit()))
          is(Put.count) {
            flight.index.settle()
            aim.element(slot)
            when(flight.some)(goto(move)) otherwise goto(head)
            forPacked {
              when(!cut)(finish())
              goto(linger)
            }()
          }
          is(Put.eventIndex)(goto(question))
        }
      }
    }
    settle.whenIsActive {
      interrupt.settling := True
      puts               := Put.eventIndex
      aim(Ring.used, (size @@ U"000") + U(RingHead, 4 bits))
      forPacked(aim(Ring.used, 0))()
      when(cut)(goto(leave)) elsewhen (choose(True, features.eventIndex) && empty) {
        goto(put)
      } otherwise goto(question)
    }
    question.whenIsActive {
      when(choose(True, features.eventIndex) && interrupt.untold) {
        aim(Ring.available, (size @@ U"0") + U(RingHead, 4 bits))
        forPacked(aim(Ring.available, 0))()
        read(Task.eventIndex)
      } elsewhen (interrupt.untold || empty)(lookFurther()) otherwise goto(decide)
    }
    decide.whenIsActive(goto(conclude))
    conclude.whenIsActive {
      interrupt.settling := False
      when(cut)(goto(leave)) otherwise {
        when(interrupt.announces && !interrupt.hurried)(announce())
        for (n <- 0 until p.pairs)
          when(queue === n && interrupt.untold) { state.eager(n) := interrupt.announces }
        told := used
        for (n <- 0 until p.pairs) when(queue === n) { state.untold(n) := False }
        interrupt.waits.over := False
        goto(pick)
      }
    }
    leave.whenIsActive {
      io.voids := True
      when(io.quiet) {
        io.gaveUp := True
        goto(pick)
      }
    }
    always {
      when(!bit(io.live) && !isActive(pick)) { cut := True }
      for (n <- 0 until p.pairs) when(!io.drain(n)) { clean(n) := False }
    }
    val rests = isActive(pick)
    // `serve` and `judge` change the known index at their end, and `hint.adds` is a cycle old.
    hint.judged := isActive(look) || isActive(judge) ||
      RegNext(isActive(serve) || isActive(judge), False)
  }

  for (n <- 0 until p.pairs) {
    when(heard && queue === n) {
      state.kicked(n) := False
      state.hinted(n) := False
    }
    when(io.kick.pairs(n)) {
      state.kicked(n) := True
      state.hinted(n) := io.kick.hinted
      state.hint(n)   := io.kick.index
    }
    if (p.packed) when(io.looks.retract(n)) {
      state.known(n)  := io.looks.next(n)
      state.kicked(n) := True
    }
  }
  // The reset comes last, behind what the machine assigns, so that it is a reset of the registers
  // and no choice in front of them.
  machine.postBuild(for (n <- 0 until p.pairs) when(!io.live(n))(state.begin(n)))
  io.rests := machine.rests
  val busy = RegNext(!machine.rests || wanted.orR || io.drain.orR) init False
  io.busy := busy
}

object QueueRunner {
  val ChainsInTurn = 8
}
