// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.queue

import spinal.core._
import spinal.lib._

import lanebox.virtio.vocabulary.HostRequests

/** Reads up to 16 bytes of a ring, from any byte address on: an index, an entry or a descriptor.
  *
  * Each of two directions has one read under way at a time. In its `answer` the byte at the address
  * that was asked for is byte 0. Data comes for one of them at a time, so both share the registers.
  */
case class RingReader() extends Component {
  import HostRequests.{Place, Returned}

  val io = new Bundle {
    val asks     = Vec(slave(Stream(Place(5))), 2)
    val requests = Vec(master(Stream(Place(5))), 2)
    val data     = in(Returned())
    val comes    = in Bits (2 bits) // Bit n: `data` is for direction n.
    val answers  = Vec(master(Flow(RingReader.Answer())), 2)
  }
  val shifts = io.asks.map(ask => RegNextWhen(ask.address(1 downto 0), ask.fire))
  for ((request, ask) <- io.requests.zip(io.asks)) request << ask

  // Up to 16 bytes from byte 3 of a dword on are in the first five dwords, so in the first beat.
  val came    = RegNext(io.data)
  val shift   = RegNext(io.comes(1) ? shifts(1) | shifts(0))
  val comes   = RegNext(io.comes) init 0
  val shifted = RingReader.Answer()
  shifted.data   := shift.muxList((0 to 3).map(n => n -> came.data(8 * n, 128 bits)))
  shifted.failed := came.failed
  val answer  = RegNext(shifted)
  val answers = RegNext(comes) init 0
  for ((one, n) <- io.answers.zipWithIndex) {
    one.valid   := answers(n)
    one.payload := answer
  }
}

object RingReader {

  /** The bytes that a read of a ring brought. */
  case class Answer() extends Bundle {
    val data   = Bits(128 bits)
    val failed = Bool()
  }
}
