// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rq

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.{HardBlock, Numbers}

/** Turns the card's request TLPs into RQ beats: the descriptor (PG213, "Requester Request
  * Descriptor"), then the payload. No cycle is lost inside a TLP or between two.
  *
  * Three register stages stop together when RQ does not take a beat. The stage `reading` addresses
  * the store of write data, `read` holds the store's data, and `sent` holds the complete beat. An
  * interrupt message is one beat. It can be withdrawn until it is in the registers at the pins.
  */
case class RequestFramer(p: RequestParam) extends Component {
  import RequestFramer._
  val writers = p.writers.size
  val io = new Bundle {
    val issue  = slave(Stream(Issue(p)))
    val source = in Bits (p.sources bits) // One-hot: the source of the data of a write TLP.
    val number = in UInt (5 bits)
    // Position in the client's store at which the beat's eight dwords begin, in dwords.
    val start = out UInt (p.positionBits bits)
    val next  = out UInt (p.rowBits bits) // Row of the store after the row of `start`.
    val data  = in Vec (Bits(HardBlock.DataWidth bits), p.sources)
    val freed = Vec(master(Flow(UInt(p.rowBits bits))), writers)
    val rq    = master(HardBlock.Rq())
    val idle  = out Bool ()

    // Signals of the interrupt message; MessagePort says what they mean.
    val withdraw       = p.messages generate (in Bool ())
    val shown, dropped = p.messages generate (out Bool ())
  }
  val laneBits = log2Up(HardBlock.Dwords)

  case class Head() extends Bundle {
    val write           = Bool()
    val address         = UInt(62 bits)
    val dwords          = UInt(8 bits)
    val firstBe, lastBe = Bits(4 bits)
    val attributes      = Bits(3 bits)
    val tag             = UInt(Numbers.TagWidth bits)
    val sequence        = UInt(Numbers.SequenceWidth bits)
  }

  // While `go` is high, all three stages move on. It is the `ready` of `sent.beats`, a register.
  val go = Bool()

  val reading = new Area {
    val valid  = RegInit(False)
    val first  = Reg(Bool())
    val more   = Reg(UInt(5 bits)) // Beats of the TLP after the beat in this stage.
    val head   = Reg(Head())
    val source = Reg(Bits(p.sources bits))
    val start  = Reg(UInt(p.positionBits bits))
    val next   = Reg(UInt(p.rowBits bits))
    val last   = more === 0

    // A TLP stays in this stage for all of its beats, which no pipeline stage of a Stream does.
    io.issue.ready := go && (!valid || last)
    when(go) {
      first            := False
      more             := more - 1
      start            := start + HardBlock.Dwords
      next             := next + 1
      when(last)(valid := False)
    }
    when(io.issue.fire) {
      valid := True
      first := True
      more  := io.issue.moreBeats
      head.assignSomeByName(io.issue.payload)
      head.sequence := io.issue.write ? io.number.resize(Numbers.SequenceWidth bits) |
        U(RequestNumbers.Read)
      if (p.messages) when(io.source.msb)(head.sequence := RequestNumbers.Message)
      source := io.source
      start  := io.issue.start
      next   := (io.issue.start >> laneBits) + 1
    }
    io.start := start
    io.next  := next
    val sources = source.asBools
    for ((freed, mine) <- io.freed.zip(sources)) {
      freed.valid   := valid && mine
      freed.payload := start >> laneBits
    }
  }

  val read = new Area {
    val valid = RegNextWhen(reading.valid, go) init False
    val first = RegNextWhen(reading.first, go)
    val last  = RegNextWhen(reading.last, go)
    val head  = RegNextWhen(reading.head, go)
    val lane  = RegNextWhen(reading.start(laneBits - 1 downto 0), go)
    val data  = RegNextWhen(MuxOH(reading.source, io.data), go)
  }

  val sent = new Area {
    val head = read.head
    val descriptor = B"0" ## head.attributes ## B"000" ## B"0" ## B(0, Numbers.IdWidth bits) ##
      head.tag ## B(0, Numbers.IdWidth bits) ## B"0" ## B"000" ## head.write ##
      head.dwords.resize(Numbers.DwordCountWidth bits) ## head.address ## B"00"
    val turned = (0 until laneBits).foldLeft(read.data) { (data, bit) =>
      read.lane(bit) ? data.rotateRight(32 << bit) | data
    }
    // `filled` is the number of lanes in use in a TLP's last beat; 0 stands for all eight. The
    // descriptor takes four lanes of the first beat.
    val filled = head.write ? (head.dwords + RequestParam.Descriptor).resize(laneBits bits) |
      U(RequestParam.Descriptor)
    val ends = B((0 until HardBlock.Dwords).map(lane => filled === 0 || filled > lane))

    val beat = Fragment(HardBlock.RqBeat())
    beat.data                                := turned
    when(read.first)(beat.data(127 downto 0) := descriptor)
    beat.keep                                := read.last ? ends | B(0xff, HardBlock.Dwords bits)
    beat.firstBe                             := head.firstBe
    beat.lastBe                              := head.lastBe
    beat.sequence                            := head.sequence
    beat.last                                := read.last

    // One register, `go`, stops all stages. m2sPipe is not used: it would chain their `ready`
    // signals.
    val beats = HardBlock.Rq()
    beats.valid   := RegNextWhen(read.valid, go) init False
    beats.payload := RegNextWhen(beat, go)
    go            := beats.ready
  }

  // RQ's `ready` pin goes into a register first, and RQ's other pins are driven by registers alone.
  val next = sent.beats.s2mPipe()
  val messages = p.messages generate new Area {
    val present = next.valid && RequestNumbers.isMessage(next.sequence)
    val drops   = present && io.withdraw
    val dropped = RegNext(drops) init False
    val shown   = RegNext(present && !drops && next.ready) init False
    val kept    = next.throwWhen(drops)
    io.dropped := dropped
    io.shown   := shown
  }
  val kept = if (p.messages) messages.kept else next
  io.rq << kept.m2sPipe()
  io.idle := !reading.valid && !read.valid && !sent.beats.valid && go && !io.rq.valid
}

object RequestFramer {

  /** A TLP that may go to RQ: a write whose data is in the store, or a read that has its tag and
    * its completion space.
    */
  case class Issue(p: RequestParam) extends Bundle {
    val write           = Bool()
    val address         = UInt(62 bits)
    val dwords          = UInt(8 bits)
    val firstBe, lastBe = Bits(4 bits)
    val attributes      = Bits(3 bits)
    val lastOfRequest   = Bool()
    val moreBeats       = UInt(5 bits)
    val start           = UInt(p.positionBits bits)
    val tag             = UInt(Numbers.TagWidth bits)

    def of(piece: RequestPiece): Unit = {
      write         := piece.write
      address       := piece.address
      dwords        := piece.dwords
      firstBe       := piece.firstBe
      lastBe        := piece.lastBe
      attributes    := piece.attributes
      lastOfRequest := piece.lastOfRequest
    }
  }
}
