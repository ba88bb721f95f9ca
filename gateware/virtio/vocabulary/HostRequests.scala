// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.vocabulary

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.{HardBlock, ReadData, ReadError, Request}

/** Makes requests to host memory, and finds for which part of the device a read's data is. */
object HostRequests {

  /** Kinds of reads. The kind is in the request's context, which comes back with the data: bit 0 is
    * 1 for transmit queues, and the kind is in the bits above.
    */
  val Ring       = 0 // Parts of a ring for QueueRunner.
  val Payload    = 1 // Data of a buffer.
  val Entry      = 2 // An entry of the available ring for HeadReader.
  val Descriptor = 3 // A descriptor for HeadReader.
  // Descriptors whose numbers HeadReader guesses. A beat has two of them.
  val Guess     = 4
  val Packed    = 5 // Descriptors for PackedReader, two in a beat.
  val KindWidth = 3

  /** The kind of ControlQueue's reads, with the bit of a receive queue, whose buffers have no data
    * to read.
    */
  val Control = Payload

  /** Returns the context of the reads of a kind. */
  def context(transmit: Boolean, kind: UInt): Bits =
    (kind.resize(KindWidth) ## Bool(transmit)).resize(16)

  /** Returns whether a read with this context brings two descriptors in a beat. */
  def isGuess(context: Bits): Bool = context(KindWidth)

  /** A place in host memory: `bytes` bytes from any byte address on. */
  case class Place(width: Int) extends Bundle {
    val address = UInt(64 bits)
    val bytes   = UInt(width bits)

    /** Returns the dwords that hold the bytes. */
    def dwords: UInt = ((bytes.resize(11) + address(1 downto 0) + 3) >> 2).resize(11)
  }

  /** A beat of data that a read brought. */
  case class Returned() extends Bundle {
    val data   = Bits(HardBlock.DataWidth bits)
    val failed = Bool()
  }

  /** Returns a request that reads the whole dwords of `place`. */
  def read(place: Stream[Place], context: Bits): Stream[Fragment[Request]] = {
    val request = Stream(Fragment(Request()))
    request.arbitrationFrom(place)
    setRead(request.payload, place.address, place.dwords, context)
    request
  }

  /** Sets all fields of `request`: it reads `dwords` whole dwords from that of `address` on. */
  def setRead(request: Fragment[Request], address: UInt, dwords: UInt, context: Bits): Unit = {
    request.last       := True
    request.write      := False
    request.address    := address(63 downto 2) @@ U"00"
    request.dwords     := dwords.resize(11)
    request.firstBe    := B"1111"
    request.lastBe     := B"1111".andMask(dwords =/= 1)
    request.attributes := 0
    request.context    := context
    request.data       := 0
  }

  /** Returns the beats of `data` whose read was asked for with `context`. */
  def returned(data: Stream[Fragment[ReadData]], context: Bits): Flow[Fragment[Returned]] = {
    val beat = Flow(Fragment(Returned()))
    beat.valid  := data.fire && data.context(KindWidth downto 0) === context(KindWidth downto 0)
    beat.last   := data.last
    beat.data   := data.data
    beat.failed := data.error =/= ReadError.none
    beat
  }
}
