// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.control

import spinal.core._
import spinal.lib._
import spinal.lib.fsm._

import lanebox.virtio.queue.QueueContext
import lanebox.virtio.vocabulary.{Descriptor, HostRequests, RingFeatures, Violation}
import lanebox.vocabulary.Numbers.DwordCountWidth
import lanebox.vocabulary.Request

/** Serves the control queue of a net device (VirtIO 1.2, 5.1.6.5), one chain at a time.
  *
  * The only command is MQ_VQ_PAIRS_SET: `both` pairs of queues are active, or only the first one.
  * Every other command is answered with an error. The bytes of a command may be in any number of
  * buffers, and the answer is a byte in the first buffer to write. Buffers behind it are not read.
  *
  * {{{
  *   rest -> arm -> [index] -> [entry] -> [descriptor] <-> [bytes]
  *                     ^                       v
  *                     +---- [event] <- put <- act <-> settle
  * }}}
  *
  * States in brackets read host memory. A descriptor is read in four steps, and a command byte by
  * byte, since commands are rare and this needs little logic. `settle` waits until no more frames
  * go to the second pair: until the receive runner is `apart` from it, and no frame that it has
  * `begun` waits there. If such a frame is `stuck`, since it lacks chains, the command fails.
  *
  * If the queue is not live any more, the chain is given up at the next answer of a read. All
  * accesses of memory are one behind the other, and a read comes behind the last write. So all
  * writes have arrived when the queue rests.
  */
case class ControlQueue(sizeWidth: Int) extends Component {
  import ControlQueue._
  import HostRequests.Returned

  val io = new Bundle {
    val context   = in(QueueContext(sizeWidth))
    val live      = in Bool ()
    val features  = in(RingFeatures())
    val kick      = in Bool () // The driver notifies the queue.
    val drain     = in Bool ()
    val drained   = out Bool ()
    val clear     = in Bool () // A pulse at the end of a reset: only the first pair is active.
    val both      = out Bool ()
    val apart     = in Bool ()
    val begun     = in Bool ()
    val stuck     = in Bool ()
    val request   = master(Stream(Fragment(Request())))
    val data      = slave(Flow(Fragment(Returned())))
    val announced = out Bool ()
    val violation = master(Flow(Violation()))
    val busy      = out Bool ()
  }
  val index  = Reg(UInt(16 bits)) init 0 // Chains that were used.
  val last   = RegNext(index - 1)        // `index` is at rest when a place is compared with it.
  val kicked = RegInit(True)
  val cut    = RegInit(False)            // The queue was not live at some time since it rested.
  val fresh = RegInit(False) // The driver's flag has not been asked about the last used chain.
  val both  = RegInit(False)
  io.both := both

  // The rings as they were when the queue was last taken up, as in QueueRunner.
  val context = Reg(QueueContext(sizeWidth))
  val size    = context.size
  val mask    = (size - 1).resize(sizeWidth - 1)
  val slot    = index.resize(sizeWidth - 1) & mask

  val aim = new Area {
    val base   = Reg(Base())
    val offset = Reg(UInt(21 bits))
    val table  = Reg(UInt(64 bits)) // The table with the descriptors of the chain.
    val buffer = UInt(64 bits)
    val address = RegNext(base.mux(
      Base.entries   -> table,
      Base.available -> context.available,
      Base.used      -> context.used,
      Base.memory    -> buffer
    ) + offset)
    val ready = RegNext(True) init False
    def apply(at: Base.E, by: UInt): Unit = {
      base   := at
      offset := by.resized
      ready  := False
    }
  }

  val chain = new Area {
    val head    = Reg(UInt(sizeWidth - 1 bits))
    val entry   = Reg(UInt(16 bits)) // Number of the descriptor in its table.
    val part    = Reg(UInt(2 bits)) init 0
    val inTable = Reg(Bool())        // The descriptors are those of an indirect table.
    val limit   = Reg(UInt(16 bits))
    val count   = Reg(UInt(sizeWidth bits))
    // The four dwords of a descriptor come one behind the other.
    val words      = Reg(Bits(128 bits))
    val descriptor = Descriptor(words)
    aim.buffer := descriptor.address
    val faults = RegNext(descriptor.faults(transmit = true, io.features, limit, inTable))
    val loops  = RegNext(count === size)
  }

  val command = new Area {
    val seen  = Reg(UInt(3 bits)) // Bytes of the command, but no more than one too many.
    val at    = Reg(UInt(3 bits)) // Bytes of the buffer that were read.
    val fits  = Reg(Bool())       // The bytes so far are those of MQ_VQ_PAIRS_SET.
    val wants = Reg(Bool())       // The second pair is to be active.
    val fails = Reg(Bool())
    val more  = chain.descriptor.bytes > at
    val whole = fits && seen === Bytes
  }

  val goal = Reg(Asked())
  val puts = Reg(Put())
  val asks = new Area {
    val write = False // A write is offered, and otherwise a read.
    val valid = False
    // An index with its flags, and a dword of a descriptor, may be in two dwords.
    val low   = aim.address(1 downto 0)
    val wide  = (goal === Asked.index || goal === Asked.descriptor) && low =/= 0
    val two   = write ? (puts === Put.element) | wide
    val shift = RegNext(low)
    // No stream operator fits: a state of the machine is the offer.
    io.request.valid      := valid
    io.request.last       := True
    io.request.write      := write
    io.request.address    := aim.address(63 downto 2) @@ U"00"
    io.request.dwords     := two ? U(2, DwordCountWidth bits) | U(1, DwordCountWidth bits)
    io.request.lastBe     := B"1111".andMask(two)
    io.request.attributes := 0
    io.request.context    := HostRequests.context(transmit = false, U(HostRequests.Control))
    io.request.firstBe    := B"1111"
    when(write && puts === Put.place)(io.request.firstBe  := B"0011")
    when(write && puts === Put.answer)(io.request.firstBe := UIntToOh(low, 4))
    io.request.data                                       := 0
    switch(puts) {
      is(Put.element)(io.request.data(63 downto 0) := B(1, 32 bits) ## chain.head.resize(32))
      is(Put.count)(io.request.data(31 downto 16)  := index.asBits)
      is(Put.place)(io.request.data(15 downto 0)   := index.asBits)
      is(Put.answer)(for (n <- 0 to 3) io.request.data(8 * n) := command.fails)
    }
  }
  val answer = new Area {
    // The dword at any byte address is in the first two dwords, so in the first beat.
    val word   = RegNext(asks.shift.muxList((0 to 3).map(n => n -> io.data.data(8 * n, 32 bits))))
    val failed = RegNext(io.data.failed)
    val byte   = word(7 downto 0)
    val low    = word(15 downto 0).asUInt
    val ahead  = word(31 downto 16).asUInt - index
  }
  val announces = False
  io.announced         := RegNext(announces) init False
  io.violation.valid   := False
  io.violation.payload := Violation.none

  val machine = new StateMachine {
    val rest                                                = new State with EntryPoint
    val arm, ask, await, look, point, weigh, check, collect = new State
    val act, settle, reply, put, leave                      = new State

    def read(what: Asked.E): Unit = {
      goal := what
      goto(ask)
    }
    def write(what: Put.E): Unit = {
      puts := what
      goto(put)
    }
    def violate(what: Violation.E): Unit = {
      io.violation.valid   := True
      io.violation.payload := what
      goto(leave)
    }
    def find(): Unit = {
      aim(Base.available, 0)
      read(Asked.index)
    }

    rest.whenIsActive {
      when(io.live && kicked) {
        context := io.context
        kicked  := False
        goto(arm)
      }
    }
    arm.whenIsActive {
      // The driver is asked to notify the device of the next chain before the device looks for one.
      when(io.features.eventIndex) {
        aim(Base.used, (size @@ U"000") + 4)
        write(Put.place)
      } otherwise find()
    }
    ask.whenIsActive {
      asks.valid := aim.ready
      when(io.request.fire)(goto(await))
    }
    await.whenIsActive(when(io.data.valid)(goto(look)))
    look.whenIsActive {
      when(cut)(goto(leave)) elsewhen (answer.failed)(violate(Violation.read)) otherwise {
        switch(goal) {
          is(Asked.index) {
            // The flag was read behind the used index, so the driver misses no used chain.
            announces := fresh && !io.features.eventIndex && !answer.word(0)
            fresh     := False
            aim(Base.available, (slot @@ U"0") +^ U(4, 4 bits))
            when(answer.ahead > size)(violate(Violation.index)) elsewhen (answer.ahead === 0) {
              goto(rest)
            } otherwise read(Asked.entry)
          }
          is(Asked.entry) {
            chain.head    := answer.low.resized
            chain.entry   := answer.low
            chain.inTable := False
            chain.limit   := size.resized
            chain.count   := 0
            aim.table     := context.descriptors
            command.seen  := 0
            command.fits  := True
            when(answer.low >= size)(violate(Violation.head)) otherwise goto(point)
          }
          is(Asked.descriptor) {
            chain.words := answer.word ## chain.words(127 downto 32)
            chain.part  := chain.part + 1
            when(chain.part.andR)(goto(weigh)) otherwise goto(point)
          }
          is(Asked.octet) {
            val fits = command.seen.muxList(
              True,
              Seq(
                0 -> (answer.byte === Class),
                1 -> (answer.byte === PairsSet),
                2 -> (answer.byte === 1 || answer.byte === 2),
                3 -> (answer.byte === 0)
              )
            )
            when(!fits) { command.fits := False }
            when(command.seen === 2) { command.wants := answer.byte(1) }
            command.seen := command.seen + 1
            command.at   := command.at + 1
            goto(collect)
          }
          default { // Asked.place
            announces := answer.low === last
            goto(arm)
          }
        }
      }
    }
    point.whenIsActive {
      aim(Base.entries, chain.entry @@ chain.part @@ U"00")
      read(Asked.descriptor)
    }
    weigh.whenIsActive(goto(check)) // `faults` and `loops` are a cycle late.
    check.whenIsActive {
      command.at := 0
      when(cut)(goto(leave)) elsewhen (chain.descriptor.indirect) {
        aim.table     := chain.descriptor.address
        chain.inTable := True
        chain.entry   := 0
        val entries = chain.descriptor.bytes >> 4
        chain.limit := (entries >> 16 =/= 0) ? U(0xffff) | entries.resize(16)
        when(chain.faults.badTable)(violate(Violation.indirect)) otherwise goto(point)
      } elsewhen (chain.faults.empty)(violate(Violation.empty)) elsewhen (chain.loops) {
        violate(Violation.endless)
      } elsewhen (chain.faults.badNext)(violate(Violation.nextEntry)) elsewhen (
        chain.descriptor.write
      )(goto(act)) elsewhen (!chain.descriptor.more) {
        violate(Violation.direction) // There is no buffer for the answer.
      } otherwise goto(collect)
    }
    collect.whenIsActive {
      aim(Base.memory, command.at)
      when(command.more && command.seen < Bytes)(read(Asked.octet)) otherwise {
        when(command.more) { command.seen := Bytes + 1 }
        chain.count := chain.count + 1
        chain.entry := chain.descriptor.next
        goto(point)
      }
    }
    act.whenIsActive {
      command.fails := !command.whole
      when(command.whole && both && !command.wants) {
        both := False
        goto(settle)
      } otherwise {
        when(command.whole) { both := command.wants }
        goto(reply)
      }
    }
    settle.whenIsActive {
      when(cut)(goto(leave)) elsewhen (io.apart && !io.begun)(goto(reply)) elsewhen (io.stuck) {
        both          := True
        command.fails := True
        goto(reply)
      }
    }
    reply.whenIsActive {
      aim(Base.memory, 0)
      write(Put.answer)
    }
    put.whenIsActive {
      asks.write := True
      asks.valid := aim.ready
      // The next read, if one follows. It does not wait for the request's turn: that path is deep.
      goal := (puts === Put.count) ? Asked.place | Asked.index
      when(io.request.fire) {
        switch(puts) {
          is(Put.answer) {
            aim(Base.used, (slot @@ U"000") +^ U(4, 4 bits))
            puts := Put.element
          }
          is(Put.element) {
            index := index + 1
            aim(Base.used, 0)
            puts := Put.count
          }
          is(Put.count) {
            fresh := True
            // VirtIO 1.2, 2.7.7.2: the driver names the chain that it wants to know of.
            aim(Base.available, (size @@ U"0") + 4)
            when(io.features.eventIndex)(goto(ask)) otherwise goto(arm)
          }
          default { // Put.place
            aim(Base.available, 0)
            goto(ask)
          }
        }
      }
    }
    leave.whenIsActive {
      index      := 0
      chain.part := 0
      fresh      := False
      kicked     := True
      goto(rest)
    }
    always {
      when(!isActive(rest)) { cut := cut || !io.live } otherwise {
        cut := False
        when(!io.live) {
          index  := 0
          kicked := True
        }
      }
    }
    val rests = isActive(rest)
  }
  when(io.kick) { kicked := True }
  when(io.clear) { both := False }
  // A read follows the last write, so the write has arrived.
  io.drained := machine.rests && io.drain
  val busy = RegNext(!machine.rests || (io.live && kicked) || io.drain) init False
  io.busy := busy
}

object ControlQueue {
  // The command MQ_VQ_PAIRS_SET (VirtIO 1.2, 5.1.6.5.5): a byte each, and a number of pairs of two.
  val Class    = 4
  val PairsSet = 0
  val Bytes    = 4

  object Base extends SpinalEnum {
    val entries, available, used, memory = newElement()
  }

  /** A kind of read. `octet` is a byte of the command. `place` is the index of the chain that the
    * driver wants to know of.
    */
  object Asked extends SpinalEnum {
    val index, entry, descriptor, octet, place = newElement()
  }

  /** A kind of write. `count` is the used index, and `place` the index for notifications. */
  object Put extends SpinalEnum {
    val answer, element, count, place = newElement()
  }
}
