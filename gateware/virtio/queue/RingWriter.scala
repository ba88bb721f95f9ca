// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.queue

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.Numbers.DwordCountWidth
import lanebox.vocabulary.Request

/** Makes each write to a used ring a request: one or two dwords, or the lower half of a dword. */
case class RingWriter() extends Component {
  val io = new Bundle {
    val write   = slave(Stream(RingWriter.Write()))
    val request = master(Stream(Fragment(Request())))
  }
  io.request.arbitrationFrom(io.write)
  io.request.last       := True
  io.request.write      := True
  io.request.address    := io.write.address
  io.request.dwords     := io.write.pair ? U(2, DwordCountWidth bits) | U(1, DwordCountWidth bits)
  io.request.firstBe    := io.write.half ? B"0011" | B"1111"
  io.request.lastBe     := B"1111".andMask(io.write.pair)
  io.request.attributes := 0
  io.request.context    := 0
  io.request.data       := io.write.data.resized
}

object RingWriter {

  /** A write to a used ring, at an address that is a multiple of 4. */
  case class Write() extends Bundle {
    val address = UInt(64 bits)
    val pair    = Bool() // Two dwords are written.
    val half    = Bool() // Only the lower 16 bits of one dword are written.
    val data    = Bits(64 bits)
  }
}
