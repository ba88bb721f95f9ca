// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.queue

import spinal.core._
import spinal.lib._

import lanebox.virtio.vocabulary.HostRequests

/** Reads up to 16 bytes of a ring, from any byte address on: an index, an entry or a descriptor.
  *
  * One read is under way at a time. In `answer` the byte at the address that was asked for is byte
  * 0.
  */
case class RingReader() extends Component {
  import HostRequests.{Place, Returned}

  val io = new Bundle {
    val ask     = slave(Stream(Place(5)))
    val request = master(Stream(Place(5)))
    val data    = slave(Flow(Fragment(Returned())))
    val answer  = master(Flow(RingReader.Answer()))
  }
  val shift = RegNextWhen(io.ask.address(1 downto 0), io.ask.fire)
  io.request << io.ask

  // Up to 16 bytes from byte 3 of a dword on are in the first five dwords, so in the first beat.
  val came    = io.data.m2sPipe
  val shifted = Flow(RingReader.Answer())
  shifted.valid  := came.valid
  shifted.data   := shift.muxList((0 to 3).map(n => n -> came.data(8 * n, 128 bits)))
  shifted.failed := came.failed
  io.answer << shifted.m2sPipe
}

object RingReader {

  /** The bytes that a read of a ring brought. */
  case class Answer() extends Bundle {
    val data   = Bits(128 bits)
    val failed = Bool()
  }
}
