// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.queues

import spinal.core._

import lanebox.vocabulary.Frames

/** The parser's result for a frame: the fields by which rules and the spread over queues choose.
  *
  * A field whose header is missing, cut off or not understood is 0, and the flag of that header is
  * low. So no frame is refused, whatever is in it.
  */
case class FlowKey() extends Bundle {
  val port   = UInt(Frames.PortWidth bits)
  val length = UInt(16 bits) // Bytes that the frame had at its source.

  // The EtherType behind the VLAN tags, or the length field of an IEEE 802.3 frame.
  val etherType = Bits(16 bits)
  val tagged    = Bool()
  val vlan      = Bits(12 bits) // The VLAN of the outermost tag.

  val ipv4, ipv6 = Bool()
  val fragment   = Bool()       // The IP packet is a fragment, also if it is the first one.
  val protocol   = Bits(8 bits) // IP protocol behind the IPv6 extension headers that were read.
  // An IPv4 address takes the upper 32 bits of `source` or `destination`. The rest is 0 then.
  val source, destination = Bits(128 bits)

  // The frame has a TCP, UDP or SCTP header with ports, so both ports are known.
  val hasPorts                    = Bool()
  val sourcePort, destinationPort = UInt(16 bits)
  val tcpFlags                    = Bits(8 bits) // 0 if the header is not TCP's.
}
