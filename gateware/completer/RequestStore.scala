// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.completer

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.HardBlock
import lanebox.vocabulary.targets.TargetRequest

/** Holds a request of the host until all of its beats have come, and hands requests to their ports
  * in order.
  *
  * A request of one beat (`single`) is offered to its port in the same cycle if no other request is
  * in the store. If the port does not take it, it is stored, so that it stays offered. All beats of
  * a longer request (`part`) are stored. With `last` they are committed, or dropped if `cut` is
  * set. `single` and `part` may only come while `room` is set.
  */
case class RequestStore(ports: Int, depth: Int) extends Component {
  import RequestStore._

  require(isPow2(depth), s"a request store of $depth beats: the depth must be a power of two")

  val io = new Bundle {
    val room   = out Bool ()
    val beat   = in(RoutedRequest(ports))
    val single = in Bool ()
    val part   = in Bool ()
    val last   = in Bool () // Valid with `part`: the beat is the request's last.
    val cut    = in Bool () // Valid with `part` and `last`: the whole request is dropped.
    val pops   = Vec(master(Stream(Fragment(TargetRequest()))), ports)
  }

  // Pointers have one bit more than an address, so that a full store differs from an empty one.
  val pointerBits = log2Up(depth) + 1
  val memory      = Mem(Fragment(RoutedRequest(ports)), depth)
  memory.addAttribute("ram_style", "distributed")
  val written, committed, read = Reg(UInt(pointerBits bits)) init 0
  val available                = RegInit(False) // The store holds a complete request.

  // Output: the oldest request is offered to its port ---------------------------------------------
  val stored = memory.readAsync(read.resized)
  val direct = Fragment(RoutedRequest(ports))
  direct.fragment := io.beat
  direct.last     := True
  // A request of one beat has at most four dwords of payload, so the upper four lanes may have any
  // value.
  direct.request.data(HardBlock.UpperHalf).allowOverride() :=
    stored.request.data(HardBlock.UpperHalf)
  val shown = available ? stored | direct
  // StreamDemux is not used: it would decode a number, but the port is one-hot.
  val valid = available || io.single
  for (port <- 0 until ports) {
    io.pops(port).valid    := valid && shown.port(port)
    io.pops(port).last     := shown.last
    io.pops(port).fragment := shown.request
  }
  // The ports' `ready`, and so `taken`, comes late in the cycle. So the next values of the pointers
  // are computed before it is known.
  val taken    = (shown.port & B(io.pops.map(_.ready))).orR
  val readNext = read + 1
  when(available && taken)(read := readNext)

  // Input: beats are written to the store ---------------------------------------------------------
  val stays       = io.single && available || io.single && !taken
  val whole       = io.part && io.last && !io.cut
  val writtenNext = written + 1
  val entry       = Fragment(RoutedRequest(ports))
  entry.fragment := io.beat
  entry.last     := io.last || io.single
  memory.write(written.resized, entry, io.part || stays)
  when(io.part || stays)(written             := writtenNext)
  when(whole || stays)(committed             := writtenNext)
  when(io.part && io.last && io.cut)(written := committed)

  val more = committed =/= readNext || io.single
  available := whole || available && more || valid && !taken

  // `room` still counts a beat that leaves the store in this cycle, so it may rise a cycle late.
  // That costs no throughput, since the store has room for two of the largest writes.
  val fill = written - read
  val room = RegInit(False)
  room    := fill < depth - 1
  io.room := room
}

object RequestStore {

  /** A beat of a parsed request of the host, and the port that gets it. `port` is one-hot. */
  case class RoutedRequest(ports: Int) extends Bundle {
    val port    = Bits(ports bits)
    val request = TargetRequest()
  }
}
