// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.mmio

import spinal.core._
import spinal.lib._
import spinal.lib.bus.amba4.axi.{Axi4, Axi4Config}

import lanebox.vocabulary.{HardBlock, Numbers}

/** A 256-bit AXI4 master for the host's accesses to user logic. A read is cut into pieces of one
  * completion each. Every piece is a burst with an ID of its own. Up to 32 bursts may be in flight.
  *
  * The low 5 bits of an ID are the number of the place (512 bytes of memory) in which the piece
  * lands. The high 3 bits are an epoch, a count that goes up after a timeout. An answer to a piece
  * that was given up carries the old epoch, so it is ignored. Answers may come in any order and
  * interleaved. Completions leave in the order of their requests.
  *
  * A read burst starts at the first dword asked for and ends with a row of 32 bytes. So up to 28
  * bytes behind the end are read and thrown away. A read of a single dword is one beat of 4 bytes.
  * Write strobes are exact.
  */
case class AxiTarget(p: MmioParam) extends Component {
  import CompletionBuilder.Fetch
  import MmioParam._

  val io = new Bundle {
    val pieceMask = in UInt (PieceRowBits bits)
    val write     = slave(Flow(TargetWrite()))
    // Number of beats of host writes that wait for the AXI bus.
    val writesLeft = out UInt (log2Up(AxiTarget.WriteBeats + 1) bits)
    val read       = slave(Flow(TargetRead()))
    val fetch      = master(Stream(Fetch(p)))
    val fetched    = in Bool ()
    val landing    = slave(LaneMemoryPort(landingRowWidth)) // Only the port's read half is used.
    val bus        = master(Axi4(AxiTarget.config(p.axiAddressWidth)))
    val writeError = master(Flow(MmioError()))
    val readError  = master(Flow(MmioError()))
    val busy       = out Bool ()
  }

  val writing = AxiWriter(p)
  writing.io.write << io.write
  io.writesLeft := writing.io.writesLeft
  io.bus.aw << writing.io.aw
  io.bus.w << writing.io.w
  writing.io.b << io.bus.b
  io.writeError << writing.io.error
  io.busy := writing.io.busy

  val order = WriteOrder()
  order.io.accepted := io.write.valid && io.write.first
  order.io.done     := writing.io.done.resized
  order.io.read     := io.read.valid

  val reading = AxiReader(p)
  reading.io.pieceMask := io.pieceMask
  reading.io.read << io.read
  reading.io.mayStart := order.io.mayStart
  order.io.start      := reading.io.start
  order.io.skip       := reading.io.skip
  io.bus.ar << reading.io.ar
  reading.io.r << io.bus.r
  io.fetch << reading.io.fetch
  reading.io.fetched := io.fetched
  reading.io.landing <> io.landing
  io.readError << reading.io.error
}

object AxiTarget {
  val WriteBeats = 32
  val IdWidth    = Numbers.AxiIdWidth
  val EpochBits  = IdWidth - MmioParam.ReadNumberWidth

  def config(addressWidth: Int) = Axi4Config(
    addressWidth = addressWidth,
    dataWidth = HardBlock.DataWidth,
    idWidth = IdWidth,
    useRegion = false,
    useLock = false,
    useCache = false,
    useQos = false,
    useProt = false
  )
}
