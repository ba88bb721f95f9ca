// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import spinal.core._
import spinal.lib._

import lanebox.virtio.vocabulary.{EngineParam, HostBuffer, Moved, VirtioParam}
import lanebox.vocabulary.{HardBlock, Request}

/** Writes received frames to the buffers of chains: from the card to the host.
  *
  * A frame may need several buffers. In the next buffer it goes on where the last one ended. `pair`
  * is the pair of queues of the present chain. Each pair has a frame of its own, which may wait for
  * buffers while that of another pair is written. `clear` ends the frame of a pair. `forget` lets
  * the frame begin anew with the next buffer, and so does a queue that is not `live`. `lose` drops
  * the frame.
  *
  * A buffer that is `alone` in its chain has room for all of its frame. The frame is taken with the
  * buffer, and the next buffer is taken while this one is being written. Then `done` comes in place
  * of `moved`.
  *
  * `chains` is the number of chains that the frame has so far. The header of each frame says that
  * it has one. If the frame has needed more, their number is written into the header in host
  * memory, behind all other bytes.
  *
  * `moved` and `done` come when all beats of all writes to a buffer are in `queue`, from which they
  * go to `request`. Requests of `used` go behind them. While `holds` is high, `queue` has beats,
  * and reads that must not pass them wait.
  */
case class ReceiveMover(p: EngineParam) extends Component {
  val io = new Bundle {
    val buffer = slave(Stream(HostBuffer()))
    val alone  = in Bool ()
    val idle   = out Bool () // The next buffer is taken as soon as there is a frame.
    val fresh  = out Bool () // No part of the frame of `pair` was written.
    val quiet  = out Bool () // No buffer is under way.
    val moved  = master(Flow(Moved(p.frameWidth)))
    val done   = out Bool ()
    val forget = in Bool ()
    val lose   = in Bool ()
    val pair   = in UInt (p.pairWidth bits)
    val chains = in UInt (8 bits)
    val live   = in Bits (p.pairs bits)
    val clear  = in Bits (p.pairs bits)
    val frame  = slave(Stream(UInt(p.frameWidth bits)))
    val place  = in UInt (p.rowWidth bits)
    val read   = out UInt (p.rowWidth bits)
    val data   = in Bits (HardBlock.DataWidth bits)
    val used    = slave(Stream(Fragment(Request()))) // Each of one beat.
    val request = master(Stream(Fragment(Request())))
    val holds   = out Bool ()                        // Beats wait for `request`.
  }
  val BeatWidth = log2Up(VirtioParam.ChunkBeats + 2)
  val Bytes     = HardBlock.BeatBytes
  val Most      = p.rows * Bytes // No frame has more bytes.

  val active = RegInit(False)
  val alone  = RegInit(False)
  val buffer = Reg(HostBuffer())            // Its `bytes` are no more than Most.
  val moved  = Reg(UInt(p.frameWidth bits)) // Bytes of the frame that this buffer has.
  // Bytes of the frame of each pair whose writes have begun.
  val positions = Vec(Reg(UInt(p.frameWidth bits)) init 0, p.pairs)
  val position  = if (p.pairs == 1) positions(0) else positions(io.pair)
  val queue     = StreamFifo(Fragment(Request()), 32, latency = 1)
  // Room for the beats of a write, and for the last beats of the write before. `used` leaves it.
  val room  = RegNext(queue.io.availability > VirtioParam.ChunkBeats + 6) init False
  val spare = RegNext(queue.io.availability > VirtioParam.ChunkBeats + 8) init False
  // The queue is not empty. A register, since the path through the arbiter is deep.
  val some = RegInit(False)
  io.holds := some
  io.fresh := position === 0

  /** A write is prepared while the one before is carried out. Its rows are read while its size is
    * computed.
    */
  val step = new Area {
    val count  = Reg(UInt(3 bits)) init 0
    val length = Reg(UInt(p.frameWidth bits)) // Of the present frame.
    val left   = RegNext((active ? length | io.frame.payload) - position)
    val most   = RegNext((buffer.bytes < left) ? buffer.bytes.resize(p.frameWidth) | left)
    val size   = RegNext(buffer.chunk(most))
    // `left`, `most` and `size` are registers, one behind the other. So `size` is right some cycles
    // after `buffer` or `position` has changed, and `count` counts these cycles. After a new buffer
    // there is a cycle less, since `left` does not depend on the buffer.
    val sized  = count === 4
    val waits  = RegInit(False) // All writes of the buffer have begun, and are not yet in `queue`.
    val copies = RegInit(False) // A write is being carried out.
    val finished = RegInit(False) // All writes of the buffer are in `queue`.
    val tells    = RegInit(False) // The number of chains is being written.
    val rests    = !active || waits
    // `position` and the buffer's address are up to date, so the rows may be read. The last beat of
    // the write before is in `queue` when this write begins.
    val free   = Bool()
    val starts = !rests && count === 2 && room && free
    when(!rests && !sized && (count =/= 2 || starts)) { count := count + 1 }

    io.idle  := !active
    io.quiet := !active && !copies
    // No stream operator fits: a buffer is taken once there is a frame for it, and the frame stays.
    io.buffer.ready := !active && io.frame.valid
    when(io.buffer.fire) {
      active         := True
      alone          := io.alone
      buffer.address := io.buffer.address
      // So the upper bits need no logic.
      buffer.bytes := (io.buffer.bytes >= Most) ? U(Most, 32 bits) | io.buffer.bytes
      length       := io.frame.payload
      moved        := 0
      count        := 2
    }
    val begins = !rests && sized
    val last   = size === most
    val over   = RegNextWhen(last, begins)          // This write is the last one of its buffer.
    val ended  = RegNextWhen(most === left, begins) // This buffer has the end of the frame.
    val single = RegNextWhen(alone, begins)         // This buffer is alone.
    when(begins) {
      position       := position + size
      moved          := moved + size
      buffer.address := buffer.address + size
      buffer.bytes   := (buffer.bytes.resize(p.frameWidth) - size).resized
      count          := 1
      when(last) {
        waits := !alone
        when(alone) {
          active   := False
          position := U(0, p.frameWidth bits)
        }
      }
    }
    val done = finished
    io.moved.valid  := done
    io.moved.bytes  := moved
    io.moved.ended  := ended
    io.moved.failed := False
    // No stream operator fits: a frame leaves with its last buffer, or when it is lost, or in the
    // cycle behind a buffer that is alone, since the path to the frames is deep. QueueRunner looks
    // at the next frame only when the mover is idle again.
    val takes = RegNext(io.buffer.fire && io.alone) init False
    io.frame.ready := (done && ended) || io.lose || takes
    when(done) {
      active   := False
      waits    := False
      finished := False
      when(ended) { position := U(0, p.frameWidth bits) }
    }
    when(io.forget || io.lose) { position := U(0, p.frameWidth bits) }
    for ((each, n) <- positions.zipWithIndex) {
      // A chain of the pair begins or is under way, so `position` stays until `forget` says that it
      // is given up.
      val served = (active || io.buffer.fire) && io.pair === n
      when(io.clear(n) || (!io.live(n) && !served)) { each := 0 }
    }
  }

  /** For each pair whose chains may be merged: finds where the frame's number of chains
    * (`num_buffers` in the header) is in host memory.
    */
  val tell = new Area {
    import VirtioParam.NetCount
    val merged = RegNext(io.chains =/= 1)
    val before = RegNext(position <= NetCount)
    // Bytes in front of that number.
    val lead   = RegNext(U(NetCount, 4 bits) - position(3 downto 0))
    val inside = before && lead < step.size
    val places = for (n <- p.merging) yield {
      val place = Reg(UInt(64 bits))
      when(step.begins && inside && io.pair === n) { place := buffer.address + lead }
      place
    }
    val place =
      if (places.isEmpty) U(0, 64 bits)
      else MuxOH(p.merging.map(io.pair === _).toIndexedSeq, places)
    val pushes = RegInit(False)
    pushes := False
  }

  /** Rows of the frame are read one behind the other. Two neighbours make a beat of the write,
    * which begins at a dword: each row is rotated, and the beat takes each byte from one of both.
    */
  val copy = new Area {
    val start  = buffer.address(1 downto 0)
    val reach  = step.size +^ start // Bytes from the start of the first dword on.
    val origin = position - start
    val turn   = RegNextWhen(origin(4 downto 0), step.begins)
    val base  = RegNextWhen(io.place, io.buffer.fire) // The frame's first row.
    val row   = Reg(UInt(p.rowWidth bits))
    val beats = RegNextWhen(((reach + (Bytes - 1)) >> 5).resize(BeatWidth), step.begins)
    val asked = Reg(UInt(BeatWidth bits)) init 0
    val reads = RegInit(False)
    val known = RegInit(False) // `beats` is that of the write whose rows are read.
    io.read   := row
    step.free := !reads
    when(step.begins) { known := True }
    when(step.starts) {
      reads := True
      known := False
      asked := 0
      row   := base + (origin >> 5).resize(p.rowWidth)
    }
    // Until `beats` is `known`, at most two rows too many are read.
    when(reads) {
      row   := row + 1
      asked := asked + 1
      when(known && asked >= beats) { reads := False }
    }
    // `data` follows `read` by two cycles. The first row alone makes no beat.
    val comes  = Delay(reads, 2, init = False)
    val number = Delay(asked, 2)
    val makes  = comes && number =/= 0 && number <= beats
    val ends   = comes && number === beats
    val odd    = turn(0) ? back(io.data, 1) | io.data
    val fine   = RegNext(turn(2 downto 1).muxList((0 to 3).map(n => n -> back(odd, 2 * n))))
    val turned = turn(4 downto 3).muxList((0 to 3).map(n => n -> back(fine, 8 * n)))
    val before = RegNext(turned)
    val old    = RegNext(Vec((0 until Bytes).map(n => turn <= Bytes - 1 - n)).asBits)
    val both = Vec((0 until Bytes).map { n =>
      old(n) ? before(8 * n, 8 bits) | turned(8 * n, 8 bits)
    }).asBits

    private def back(data: Bits, bytes: Int): Bits = data.rotateRight(8 * bytes)
  }

  val head = new Area {
    val start   = copy.start
    val address = RegNextWhen(buffer.address, step.begins)
    val dwords  = RegNextWhen(((copy.reach + 3) >> 2).resize(11), step.begins)
    val single  = dwords === 1
    val first   = RegNextWhen((B"1111" << start).resize(4), step.begins)
    val end     = copy.reach(1 downto 0)
    val last = RegNextWhen(
      end.mux(0 -> B"1111", 1 -> B"0001", 2 -> B"0011", 3 -> B"0111"),
      step.begins
    )
    // No stream operator fits: a row comes some cycles after it was asked for, taken or not.
    val push  = queue.io.push
    val makes = (RegNext(copy.makes) init False) || tell.pushes // A beat of data comes.
    io.used.ready   := spare && !makes
    push.valid      := makes || (io.used.valid && spare)
    push.last       := RegNext(copy.ends) || !makes || tell.pushes
    push.write      := True
    push.address    := (step.tells ? tell.place | address)(63 downto 2) @@ U"00"
    push.dwords     := dwords
    push.firstBe    := single ? (first & last) | first
    push.lastBe     := last.andMask(!single)
    push.attributes := 0
    push.context    := 0
    push.data       := copy.both
    when(step.tells) {
      push.dwords            := 1
      push.firstBe           := UIntToOh(tell.place(1 downto 0), 4)
      push.lastBe            := 0
      push.data(31 downto 0) := Seq.fill(4)(io.chains.asBits).reduce(_ ## _)
    }
    when(!makes) {
      push.address           := io.used.address
      push.dwords            := io.used.dwords
      push.firstBe           := io.used.firstBe
      push.lastBe            := io.used.lastBe
      push.data(63 downto 0) := io.used.data(63 downto 0)
    }
    assert(!makes || push.ready, "a beat has no room, although it was kept for it")
    // No stream operator fits: `some` equals `valid` of the queue's end.
    io.request.valid   := some
    io.request.payload := queue.io.pop.payload
    queue.io.pop.ready := io.request.ready && some
    val more = queue.io.occupancy > 1
    some := push.fire || more || (some && !io.request.ready)

    val leaves = makes && push.last
    val merged = step.over && step.ended && tell.merged && !step.single
    io.done := leaves && !step.tells && step.over && step.single
    when(leaves && step.tells) {
      step.tells    := False
      step.finished := True
    }
    when(leaves && !step.tells) {
      step.copies   := False
      step.finished := step.over && !step.single && !merged
      step.tells    := merged
      tell.pushes   := merged
    }
    when(step.begins) { step.copies := True }
  }
}
