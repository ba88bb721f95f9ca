// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import spinal.core._
import spinal.lib._

import lanebox.interrupt.RegisterPort
import lanebox.virtio.control.ControlQueue
import lanebox.virtio.queue.{HeadReader, PackedReader, QueueRunner, RingReader, RingWriter}
import lanebox.virtio.vocabulary.{EngineParam, FarPort, HostRequests, VirtioParam}
import lanebox.vocabulary.{HardBlock, ReadData, Request}

/** Serves the queues of all virtio devices of a card.
  *
  * {{{
  *   registers --- VirtioRegisters --- contexts, live, kicks ---> two QueueRunners
  *
  *   transmit: HeadReader ---> QueueRunner --- buffers ---> TransmitMover ---> BytePacker ---> rows
  *                 |                |                            |
  *                 |           RingReader, RingWriter            +--- reads ----+
  *                 |                |                                           v
  *                 +----------------+---------------------------------------> arbiter ---> request
  *                 |                |                                           ^
  *                 |           RingReader, RingWriter            +--- writes ---+
  *                 |                |                            |
  *   receive:  HeadReader ---> QueueRunner --- buffers ---> ReceiveMover <--- frames
  * }}}
  *
  * Requests of a transmit queue come one behind the other, so the arbiter keeps their order. The
  * used elements of a receive queue go through ReceiveMover's queue, behind the data, and the
  * runner's reads wait while `holds` says that this queue is not empty.
  */
case class VirtioEngine(p: EngineParam) extends Component {
  import HostRequests.{Control, Descriptor, Entry, Guess, Payload, Ring}

  val io = new Bundle {
    val registers = Vec(slave(RegisterPort(VirtioRegisters.AddressBits)), p.devices.size)
    val links     = in Bits (p.devices.size bits) // Bit n: the link of device n is up.
    val request   = master(Stream(Fragment(Request())))
    val data      = slave(Stream(Fragment(ReadData())))
    val causes    = out(Vec(p.devices.map(device => Bits(device.queues + 1 bits))))
    val busy      = out Bool ()                   // A device has work, or a reset is under way.
    val far       = Vec(master(FarPort(p)), p.pairs)
    // Bit n: both pairs of device n are active, and a frame has begun in the second one.
    val both  = out Bits (p.devices.size bits)
    val begun = in Bits (p.devices.size bits)
  }
  val far = io.far.toSeq

  /** Data that comes, with each beat of guessed descriptors made two, of one descriptor each. */
  val halves = new Area {
    val data    = Stream(Fragment(ReadData()))
    val upper   = RegInit(False)
    val doubled = HostRequests.isGuess(io.data.context)
    // No stream operator fits: one beat becomes two.
    data.valid    := io.data.valid
    data.last     := io.data.last && (upper || !doubled)
    data.fragment := io.data.fragment
    when(upper) { data.data(0, 128 bits) := io.data.data(128, 128 bits) }
    when(data.fire) { upper := doubled && !upper }
    io.data.ready := data.ready && (upper || !doubled)
  }

  val registers = for ((device, n) <- p.devices.zipWithIndex) yield {
    val page = VirtioRegisters(device)
    page.io.registers <> io.registers(n)
    page.io.link := io.links(n)
    io.causes(n) := page.io.causes
    page
  }

  val reader = RingReader()

  /** One of the two directions: the receive queues or the transmit queues of all devices. */
  class Direction(transmit: Boolean) extends Area {
    val number = if (transmit) 1 else 0
    val runner = QueueRunner(p, transmit)
    val heads  = HeadReader(p, transmit)
    val writer = RingWriter()
    for ((owner, pair) <- p.owners.zipWithIndex) {
      val page  = registers(owner).io
      val queue = 2 * (pair - p.firstPair(owner)) + number
      runner.io.contexts(pair) := page.contexts(queue)
      runner.io.live(pair)     := page.live(queue)
      runner.io.features(pair) := page.features
      runner.io.drain(pair)    := page.drain(queue)
      page.drained(queue)      := runner.io.drained(pair)
      page.announced(queue)    := runner.io.announced(pair)
    }
    // A host writes to one page at a time, so there is one notification at a time.
    val kicks = registers.map(_.io.kicks(number))
    runner.io.kick.assignDontCare()
    for (kick <- kicks) when(kick.pairs.orR) {
      runner.io.kick.hinted := kick.hinted
      runner.io.kick.index  := kick.index
    }
    runner.io.kick.pairs := kicks.map(_.pairs).asBits()
    heads.io.contexts    := runner.io.contexts
    heads.io.features    := runner.io.features
    heads.io.known       := runner.io.known
    heads.io.take        := runner.io.take
    heads.io.pair        := runner.io.pair
    val packed  = p.packed generate PackedReader(p, transmit)
    val formats = p.packed generate packed.join(runner, heads)
    if (!p.packed) {
      heads.io.live     := runner.io.live
      runner.io.head    := heads.io.head
      runner.io.read    := heads.io.valid
      runner.io.reading := heads.io.reading
    }

    /** Returns the context of this direction's reads of a kind, and the data that they bring. */
    def context(kind: Int): Bits = HostRequests.context(transmit, U(kind))
    def returned(kind: Int)      = HostRequests.returned(io.data, context(kind))
    heads.io.entry << returned(Entry)
    heads.io.descriptor << HostRequests.returned(halves.data, context(Descriptor))
    heads.io.guess << HostRequests.returned(halves.data, context(Guess))
    if (p.packed)
      packed.io.data << HostRequests.returned(halves.data, context(HostRequests.Packed))
    reader.io.asks(number) << runner.io.ask
    reader.io.comes(number) := returned(Ring).valid
    runner.io.answer << reader.io.answers(number)
    writer.io.write << runner.io.write
    val reads  = HostRequests.read(reader.io.requests(number), context(Ring))
    val writes = writer.io.request

    /** Returns the element of `parts` that belongs to the pair whose chain is under way. */
    def present[T <: Data](parts: Seq[T]): T =
      if (p.pairs == 1) parts.head else Vec(parts)(runner.io.pair)
    def is(pair: Int): Bool = runner.io.pair === pair
  }

  val transmit = new Direction(true) {
    runner.io.posted := True // A write that has left the runner is in the endpoint.
    runner.io.length := 0
    runner.io.fresh  := True
    val mover  = TransmitMover(p)
    val packer = BytePacker()
    mover.io.buffer << runner.io.buffer
    runner.io.moved << mover.io.moved
    runner.io.frames := far.map(_.room).asBits()
    mover.io.alone   := runner.io.alone
    mover.io.ends    := runner.io.ended || runner.io.gaveUp
    runner.io.idle   := mover.io.idle
    runner.io.quiet  := mover.io.quiet
    runner.io.done   := mover.io.done
    runner.io.failed := mover.io.failed
    // `free` is some cycles old, and a read's rows are not reserved at once.
    val spare = (2 * VirtioParam.PlainBytes / HardBlock.BeatBytes) min (p.rows - 1)
    val rooms = far.map(side => RegNext(side.free > mover.io.reserved + spare) init False)
    runner.io.room := rooms.asBits()
    val free = present(far.map(_.free))
    val skip = present(p.owners.map(n => U(p.devices(n).header, 4 bits)))
    mover.io.free := free
    mover.io.skip := skip
    mover.io.data << returned(Payload)
    val payload = HostRequests.read(mover.io.request, context(Payload))
    // A frame that lacks bytes is dropped. A console has no frames, so its bytes are kept.
    val frames = present(p.owners.map(n => Bool(p.devices(n).frames)))
    val void   = frames && mover.io.lacks
    packer.io.piece << mover.io.piece
    val done = mover.io.done && !mover.io.failed && !runner.io.voids
    packer.io.end    := (runner.io.ended && !void) || done
    packer.io.forget := runner.io.gaveUp || (runner.io.ended && void)
    // The pair of a row that leaves the packer.
    val pair = Delay(runner.io.pair, BytePacker.Latency)
    for ((side, n) <- far.zipWithIndex) {
      side.row.valid   := packer.io.row.valid && pair === n
      side.row.payload := packer.io.row.payload
      side.forget      := packer.io.forgot && pair === n
    }
  }

  reader.io.data := transmit.returned(Ring).payload.fragment

  // No stream operator fits: room is kept for all data that was asked for, so only a pause of the
  // mover stops the stream. The readers in `transmit` and `receive` use `fire` and never stop it.
  halves.data.ready := !transmit.mover.io.pause

  val receive = new Direction(false) {
    val mover = ReceiveMover(p)
    runner.io.posted := !mover.io.holds
    // A chain joins others only if there is a frame for it.
    runner.io.room.setAll()
    runner.io.idle   := mover.io.idle
    runner.io.fresh  := mover.io.fresh
    runner.io.quiet  := mover.io.quiet
    runner.io.done   := mover.io.done
    runner.io.failed := False
    mover.io.used << writes
    mover.io.alone := runner.io.alone
    mover.io.buffer << runner.io.buffer
    runner.io.moved << mover.io.moved
    runner.io.frames := far.map(_.frame.valid).asBits()
    mover.io.pair    := runner.io.pair
    mover.io.chains  := runner.io.chains
    mover.io.live    := runner.io.live
    mover.io.clear   := p.owners.map(registers(_).io.clear).asBits()
    mover.io.forget  := runner.io.gaveUp
    mover.io.lose    := runner.io.overran
    // Only the pair whose chain is under way shows its data.
    val data = far.map(_.data).reduce(_ | _)
    // No StreamMux: the frame is that of the same pair, and an engine of one pair has nothing to
    // select.
    val waiting = present(far.map(_.frame.valid))
    val length  = present(far.map(_.frame.payload))
    val place   = present(far.map(_.place))
    mover.io.data          := data
    mover.io.frame.valid   := waiting
    mover.io.frame.payload := length
    mover.io.place         := place
    runner.io.length       := mover.io.frame.payload
    for ((side, n) <- far.zipWithIndex) {
      // The other half of the selection above: frames of other pairs wait.
      side.frame.ready := mover.io.frame.ready && is(n)
      side.read        := mover.io.read
      side.rest        := mover.io.quiet || !is(n)
      side.shows       := is(n)
      side.runs        := registers(p.owners(n)).io.running
      side.live        := runner.io.live(n)
      side.takes       := runner.io.take && is(n)
      side.clear       := registers(p.owners(n)).io.clear
    }
  }

  /** The control queues of the devices: one for a device that has one, and otherwise none. */
  val controls: Seq[Seq[ControlQueue]] =
    for ((device, n) <- p.devices.zipWithIndex) yield {
      io.both(n) := False
      Seq.fill(if (device.control) 1 else 0)(ControlQueue(p.sizeWidth)).map { control =>
        val (page, queue, second) = (registers(n).io, 2 * device.pairs, p.firstPair(n) + 1)
        control.io.context    := page.contexts(queue)
        control.io.live       := page.live(queue)
        control.io.features   := page.features
        control.io.kick       := page.control
        control.io.drain      := page.drain(queue)
        page.drained(queue)   := control.io.drained
        control.io.clear      := page.clear
        page.announced(queue) := control.io.announced
        val (runner, heads) = (receive.runner.io, receive.heads.io)
        control.io.apart := runner.rests || !receive.is(second)
        control.io.begun := io.begun(n)
        // While the runner serves the pair, it may have taken the last chain.
        control.io.stuck := control.io.apart && !heads.valid(second) && !heads.reading(second)
        control.io.data << receive.returned(Control)
        io.both(n) := control.io.both
        control
      }
    }

  val merge = new Area {
    // No read of the runner passes data or used elements. `holds` never rises while the runner
    // offers a read: then no chain is under way, and its own writes are in the queue already.
    // Otherwise the arbiter would be locked to an input that is halted.
    val holds = receive.mover.io.holds
    val requests = Seq(
      receive.mover.io.request,
      receive.reads.haltWhen(holds),
      receive.heads.io.request,
      transmit.payload,
      transmit.writes,
      transmit.reads,
      transmit.heads.io.request
    ) ++ (if (p.packed) Seq(receive, transmit).map(_.packed.io.request) else Seq()) ++
      controls.flatten.map(_.io.request)
    val arbiter =
      StreamArbiterFactory().roundRobin.fragmentLock.build(Fragment(Request()), requests.size)
    for ((input, request) <- arbiter.io.inputs.zip(requests)) input << request
    // The endpoint begins with a register.
    io.request << arbiter.io.output
    io.request.data.allowOverride()
    // The endpoint ignores the data of reads. Of the writes only the mover's have more than 64
    // bits. So most bits need no selection.
    io.request.data := receive.mover.io.request.data
    for (writer <- transmit.writes +: controls.flatten.map(_.io.request))
      when(arbiter.io.chosenOH(requests.indexOf(writer))) {
        io.request.data(0, 64 bits) := writer.data(0, 64 bits)
      }
  }

  val reports =
    for ((device, n) <- p.devices.zipWithIndex) yield new Area {
      val page  = registers(n).io
      val pairs = p.owners.indices.filter(p.owners(_) == n)
      val ways  = Seq(transmit, receive)
      val broken = ways.map { way =>
        val report = way.runner.io.violation
        report.takeWhen(pairs.map(way.is(_)).orR)
      } ++ controls(n).map(_.io.violation)
      page.violation.valid := broken.map(_.valid).orR
      val first = PriorityMux(broken.map(one => one.valid -> one.payload))
      page.violation.payload := first
      val sends    = pairs.map(transmit.is(_)).orR
      val receives = pairs.map(receive.is(_)).orR
      // A device with frames counts lost frames. Any other device counts lost bytes.
      val count = Reg(UInt(32 bits)) init 0
      val more =
        if (device.frames) {
          val sent     = transmit.runner.io.ended && transmit.void && sends
          val received = receive.runner.io.overran && receives
          CountOne((sent +: received +: pairs.map(far(_).lost)).asBits()).resize(32)
        } else transmit.mover.io.dropped.payload.andMask(transmit.mover.io.dropped.valid && sends)
      count        := count + RegNext(more, U(0, 32 bits))
      page.dropped := count
    }
  val works = RegNext(
    ((Seq(transmit, receive).flatMap(way =>
      Seq(way.runner.io.busy, way.heads.io.busy) ++
        (if (p.packed) Seq(way.packed.io.busy) else Seq())
    ) :+ receive.mover.io.holds) ++ controls.flatten.map(_.io.busy)).orR
  ) init False
  io.busy := works
}
