// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._

/** A request behind the parser, with the one port that it is for. */
case class RoutedRequest(ports: Int) extends Bundle {
  val port    = Bits(ports bits)
  val request = TargetRequest()
}

/** Holds requests until they are known to be whole, and hands them to their ports in order.
  *
  * A request of one beat (`single`) is shown in the same cycle if nothing stands before it, and
  * stays in here if its port does not take it: so what is offered stays offered. Of a longer one
  * every beat (`part`) stays, and with `last` all of them are committed, or forgotten if it is
  * `cut`. Neither may come without `room`.
  */
case class RequestStore(ports: Int, depth: Int) extends Component {
  require(isPow2(depth), s"a request store of $depth beats: the depth must be a power of two")

  val io = new Bundle {
    val room    = out Bool ()
    val beat    = in(RoutedRequest(ports))
    val single  = in Bool ()
    val part    = in Bool ()
    val last    = in Bool ()  // With part.
    val cut     = in Bool ()  // With part and last.
    val entered = out Bool () // A request, whole.
    val pops    = Vec(master(Stream(Fragment(TargetRequest()))), ports)
  }

  val pointerBits = log2Up(depth) + 1 // One more than an address: full differs from empty.
  val memory      = Mem(Fragment(RoutedRequest(ports)), depth)
  memory.addAttribute("ram_style", "distributed")
  val written, committed, read = Reg(UInt(pointerBits bits)) init 0
  val available                = RegInit(False) // In the memory stands one that is committed.

  // Out -------------------------------------------------------------------------------------------
  val stored = memory.readAsync(read.resized)
  val direct = Fragment(RoutedRequest(ports))
  direct.fragment := io.beat
  direct.last     := True
  // A request of one beat has at most four dwords: beyond them anything may stand.
  direct.request.data(255 downto 128).allowOverride() := stored.request.data(255 downto 128)
  val shown = available ? stored | direct
  val valid = available || io.single
  for (port <- 0 until ports) {
    io.pops(port).valid    := valid && shown.port(port)
    io.pops(port).last     := shown.last
    io.pops(port).fragment := shown.request
  }
  // `taken` comes late, behind the ports' decoders: what it would mean is known before it.
  val taken    = (shown.port & B(io.pops.map(_.ready))).orR
  val readNext = read + 1
  when(available && taken)(read := readNext)

  // In --------------------------------------------------------------------------------------------
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
  io.entered                                 := whole || io.single

  val more = committed =/= readNext || io.single
  available := whole || available && more || valid && !taken

  // As if nothing left: a cycle late at worst, and half of the store is spare.
  val fill = written - read
  val room = RegInit(False)
  room    := fill < depth - 1
  io.room := room
}
