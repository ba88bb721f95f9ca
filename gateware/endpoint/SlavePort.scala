// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.endpoint

import spinal.core._
import spinal.lib._

import lanebox.completer.{CompleterParam, TargetPort}
import lanebox.vocabulary._
import lanebox.vocabulary.targets.{CompletionStatus, RequesterId}

/** A port of the Completer for LitePCIe's slave-port front ends, which take single dwords.
  *
  * Requests are split into dwords in address order. Dwords without an enabled byte are left out.
  * Read data is gathered into completions that end at 128 B boundaries. One dword is under way at a
  * time. The front end may answer a read before it takes the request.
  *
  * A read never passes an earlier write. A write passes waiting reads. Each dword of a write waits
  * for one dword of a read at most.
  *
  * If the front end does not answer a read in time, the read ends with Completer Abort. If the
  * front end does not even take the dword (LitePCIeWishboneMaster on a bus that never
  * acknowledges), the dword cannot be withdrawn. Until it is taken, reads are aborted at once and
  * writes are dropped, so that the other ports stay usable. An answer is late, and dropped, if its
  * tag is not the one awaited. Tags have 8 bits: an answer that is 256 reads late would be taken
  * for another read's.
  */
case class SlavePort(p: SlavePortParam) extends Component {
  val io = new Bundle {
    val port   = slave(TargetPort())
    val source = master(Stream(Fragment(SlaveRequest())))
    val sink   = slave(Stream(Fragment(SlaveCompletion())))
  }
  noIoPrefix()

  // Width of the count of the host's writes, by which a read finds which writes came before it.
  val OrderBits = 20
  val Piece     = 32 // The most dwords of a completion: completions end at boundaries of 128 B.

  /** A read by the host that waits in SlavePort until it is its turn at the front end. */
  case class WaitingRead() extends Bundle {
    val offset          = UInt(32 bits)
    val dwords          = UInt(Numbers.DwordCountWidth bits)
    val firstBe, lastBe = Bits(4 bits)
    val address         = UInt(64 bits)
    val requester       = RequesterId()
    val after           = UInt(OrderBits bits) // Number of writes that came before the read.
  }

  // One dword at the front end --------------------------------------------------------------------
  val offered, awaiting, expired = RegInit(False)
  val dword                      = Reg(SlaveRequest())
  val tag, userId                = Reg(UInt(8 bits)) init 0
  val timer                      = Reg(UInt(log2Up(p.timeout + 1) bits))
  val busy                       = offered || awaiting
  val blocked                    = offered && expired

  // No stream operator fits: after `ready`, a dword to read is still outstanding until its answer.
  io.source.valid              := offered
  io.source.fragment           := dword
  io.source.last               := True
  io.sink.ready                := True
  when(io.source.fire)(offered := False)

  val answered = io.sink.valid && awaiting && io.sink.tag === dword.tag
  val runsOut  = busy && !expired && timer === 0
  // A read that is answered in the last cycle of the timeout is in time, and so is a write that the
  // front end takes in that cycle.
  val expires = runsOut && !(answered || (io.source.fire && !awaiting))
  val aborted = expires && awaiting
  when(answered || aborted)(awaiting := False)
  timer                              := timer - 1
  when(expires)(expired              := True)

  def issue(write: Bool, address: UInt, enables: Bits, data: Bits, requester: Bits): Unit = {
    offered          := True
    awaiting         := !write
    expired          := False
    timer            := p.timeout - 1
    dword.first      := True
    dword.we         := write
    dword.adr        := address
    dword.firstBe    := enables
    dword.dat        := data.resized
    dword.reqId      := requester
    dword.tag        := (write ? dword.tag.asUInt | tag).asBits
    dword.userId     := userId.asBits
    userId           := userId + 1
    when(!write)(tag := tag + 1)
  }
  dword.len     := 1
  dword.lastBe  := 0
  dword.channel := 0

  // Writes wait at the port, reads wait in a queue ------------------------------------------------
  val request = io.port.request
  val kinds   = StreamDemux(request, request.write.asUInt, 2)
  val readIn  = kinds(0)
  val writeIn = kinds(1)
  val writes  = writeIn.m2sPipe()
  val waiting = StreamFifo(WaitingRead(), CompleterParam.Reads, latency = 1)
  waiting.logic.ram.addAttribute("ram_style", "distributed")

  // A read waits until all writes that came before it have gone. While it waits, one write may pass
  // it for each dword of the reads before it. That number of writes is far less than half of the
  // counters' range, so the sign of their difference is exact.
  val writesCame, writesWent = Reg(UInt(OrderBits bits)) init 0
  when(writeIn.fire && writeIn.last)(writesCame := writesCame + 1)
  when(writes.fire && writes.last)(writesWent   := writesWent + 1)

  val came = WaitingRead()
  came.assignSomeByName(request.fragment)
  came.after := writesCame
  waiting.io.push << readIn.translateWith(came)

  // Writes ----------------------------------------------------------------------------------------
  val write = new Area {
    // Index of the write's next dword, from 0.
    val index    = Reg(UInt(Numbers.DwordCountWidth bits)) init 0
    val dropping = RegInit(False) // The rest of the present write is dropped.

    val final_  = index + 1 === writes.dwords
    val enables = Bits(4 bits)
    enables                   := B"1111"
    when(final_)(enables      := writes.lastBe)
    when(index === 0)(enables := writes.firstBe)
    val address = writes.offset + (index @@ U"00")
    val data    = writes.data.subdivideIn(32 bits)(index(2 downto 0))
    val beatEnd = index(2 downto 0) === 7 || final_

    val drops = writes.valid && (blocked || dropping)
    val asks  = writes.valid && !busy && !dropping
    val turn  = Bool()
    val steps = asks && (turn || enables === 0)
    // A beat is taken with its last dword: it stays offered while its dwords go out.
    writes.ready         := drops || (steps && beatEnd)
    when(steps)(index    := index + 1)
    when(drops)(dropping := True)
    when(writes.fire && writes.last) {
      index    := 0
      dropping := False
    }
  }

  // Reads: the dwords of a piece go to a buffer, the buffer goes to the Completer -----------------
  val read = new Area {
    val head   = waiting.io.pop
    val active = RegInit(False)
    val first  = Reg(Bool())        // The first dword of the read has not been fetched yet.
    val row    = Reg(UInt(10 bits)) // Index in its 4 KiB page of the next dword to fetch.
    // Dwords of the read that are still to be fetched.
    val left = Reg(UInt(Numbers.DwordCountWidth bits))
    // `at` counts the dwords fetched for the present completion. `size` is how many it will have.
    val at, size  = Reg(UInt(6 bits))
    val byteCount = Reg(UInt(Numbers.ByteCountWidth bits))
    val lower     = Reg(UInt(7 bits))
    val status    = Reg(Bits(3 bits))
    val full      = RegInit(False) // The completion, with data or an error, can be sent.
    val sent      = Reg(UInt(2 bits))

    def pieceFrom(dword: UInt, remaining: UInt): UInt = {
      val room = U(Piece, 6 bits) - dword(4 downto 0)
      (remaining < room) ? remaining.resize(6) | room
    }
    val enables = Bits(4 bits)
    enables                  := B"1111"
    when(left === 1)(enables := head.lastBe)
    when(first)(enables      := head.firstBe)
    val nothing = enables === 0

    val fetches = active && !full && !busy
    val turn    = Bool()
    val refuses = active && !full && !awaiting && blocked
    val skips   = fetches && nothing

    // The buffer has a memory for each lane: one dword is written at a time, and a whole beat is
    // read.
    val buffer = Seq.fill(HardBlock.Dwords)(Mem(Bits(32 bits), Piece / HardBlock.Dwords))
    val stores = skips || (answered && !io.sink.err)
    for ((memory, lane) <- buffer.zipWithIndex) {
      memory.setName(s"read_buffer_$lane")
      memory.write(
        at(4 downto 3),
        skips ? B(0, 32 bits) | io.sink.dat(31 downto 0),
        stores && at(2 downto 0) === lane
      )
    }

    val dword = row(9 downto 0)
    when(stores) {
      first := False
      at    := at + 1
      row   := row + 1
      left  := left - 1
      full  := at + 1 === size
    }
    when(answered && io.sink.err) {
      status := CompletionStatus.Unsupported
      full   := True
    }
    when(aborted || refuses) {
      status := CompletionStatus.Abort
      full   := True
    }

    val failed     = status =/= CompletionStatus.Success
    val lastBeat   = (size - 1)(4 downto 3)
    val completion = io.port.completion
    // No stream operator fits: a completion is made of the buffer, whose beats `sent` counts.
    completion.valid           := full
    completion.last            := failed || sent === lastBeat
    completion.requester       := head.requester
    completion.status          := status
    completion.lowerAddress    := lower
    completion.byteCount       := byteCount
    completion.dwords          := size.resized
    completion.final_          := failed || left === 0
    completion.request.address := head.address
    completion.request.dwords  := head.dwords
    completion.request.firstBe := head.firstBe
    completion.request.lastBe  := head.lastBe
    completion.fragment.data   := Vec(buffer.map(_.readAsync(sent))).asBits

    // No stream operator fits: a read has several completions, and is taken with the last one's
    // last beat. A failure ends it early.
    head.ready := completion.fire && completion.last && completion.final_
    when(completion.fire) {
      sent := sent + 1
      when(completion.last) {
        full                           := False
        sent                           := 0
        at                             := 0
        size                           := pieceFrom(U(0, 5 bits), left)
        byteCount                      := (left @@ U"00") - ByteEnables.lastGap(head.lastBe)
        lower                          := 0
        when(completion.final_)(active := False)
      }
    }
    val ordered = !(writesWent - head.after).msb
    val begins  = head.valid && !active && ordered
    when(begins) {
      active    := True
      first     := True
      status    := CompletionStatus.Success
      row       := head.offset(11 downto 2)
      left      := head.dwords
      at        := 0
      sent      := 0
      size      := pieceFrom(head.offset(6 downto 2), head.dwords)
      byteCount := ByteEnables.span(head.dwords, head.firstBe, head.lastBe)
      lower     := head.offset(6 downto 2) @@ ByteEnables.firstGap(head.firstBe)
    }
  }

  // Writes and reads take turns -------------------------------------------------------------------
  // Writes go first. After each dword of a write a waiting read gets one dword, so neither starves.
  val readsTurn  = RegInit(False)
  val readWants  = read.fetches && !read.nothing
  val writeWants = write.asks && write.enables =/= 0
  write.turn := writeWants && !(readWants && readsTurn)
  read.turn  := readWants && !write.turn
  when(write.turn) {
    issue(True, write.address, write.enables, write.data, writes.requester.id)
    readsTurn := True
  }
  when(read.turn) {
    val address = read.head.offset(31 downto 12) @@ read.dword @@ U"00"
    issue(False, address, read.enables, B(0, 32 bits), read.head.requester.id)
    readsTurn := False
  }
}
