// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.queues

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.Numbers

/** Chooses the queue of each frame by a table of 128 entries, which the host fills.
  *
  * The entry is chosen by the hash of IP addresses and transport ports, so that all frames of a
  * connection go to one queue, or by the card's port from which the frame came. A fragment is
  * hashed without transport ports, since only the first fragment has them. A frame that is not IP
  * has the hash 0.
  *
  * The result comes three cycles (`Latency`) after the key.
  */
case class Spread(key: BigInt = Toeplitz.Symmetric) extends Component {
  val io = new Bundle {
    val byPort = in Bool ()
    val write  = slave(Flow(Spread.Write()))
    val key    = in(FlowKey())
    val queue  = out UInt (Spread.QueueWidth bits)
    val hash   = out Bits (Toeplitz.HashBits bits)
  }
  import Spread._
  val entries = Mem(UInt(QueueWidth bits), Entries)
  entries.addAttribute("ram_style", "distributed")
  entries.write(io.write.entry, io.write.queue, io.write.valid)

  val hash = Toeplitz(key)
  val input = new Area {
    val ports = (io.key.hasPorts && !io.key.fragment) ?
      (io.key.sourcePort.asBits ## io.key.destinationPort.asBits) | B(0, 32 bits)
    val six  = io.key.source ## io.key.destination ## ports
    val four = io.key.source(127 downto 96) ## io.key.destination(127 downto 96) ## ports
    // With a key that repeats, IPv4 has the same hash in the places of IPv6, for the rest is 0.
    hash.io.input := (if (Toeplitz.repeats(key)) six
                      else io.key.ipv6 ? six | (four ## B(0, Toeplitz.InputBits - 96 bits)))
  }

  val framePort = Delay(io.key.port, 2)
  val entry =
    io.byPort ? framePort.resize(log2Up(Entries)) | hash.io.hash.asUInt.resize(log2Up(Entries))
  val chosen     = RegNext(entries.readAsync(entry))
  val chosenHash = RegNext(hash.io.hash)
  io.queue := chosen
  io.hash  := chosenHash
}

object Spread {
  val Entries    = 1 << Numbers.CaptureSpreadBits
  val QueueWidth = Numbers.CaptureQueueBits
  val Latency    = 3

  /** An entry of the table that the host writes. */
  case class Write() extends Bundle {
    val entry = UInt(log2Up(Entries) bits)
    val queue = UInt(QueueWidth bits)
  }
}
