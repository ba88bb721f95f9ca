// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture

import spinal.core._
import spinal.lib._

import lanebox.capture.accounts.{AccountTable, Accounts}
import lanebox.capture.vocabulary.CaptureParam
import lanebox.capture.writer.RingSegments
import lanebox.vocabulary.{Frames, Request}

/** The ports of a capture: Capture has them for one queue, and CaptureQueues for several. */
abstract class CaptureBlock(p: CaptureParam) extends Component {
  val io = new Bundle {
    val settings = in(Capture.Settings(p))
    val clear    = in Bool ()
    // A pulse closes the MBUF (part of the ring) that is being filled, with fillers and a seal.
    val seal = in Bool ()
    // Ring position up to which the card may write, in bytes since the start of the capture.
    val limit   = slave(Flow(UInt(64 bits)))
    val segment = slave(Flow(RingSegments.Segment(p)))
    // Ring position beyond which the card interrupts the host once.
    val wake  = slave(Flow(UInt(64 bits)))
    val call  = out Bool () // A pulse: interrupt the host.
    val calls = out Bool () // High while a newly written `wake` is compared with the position.
    val now      = in UInt (64 bits) // The card's time in ns.
    val frames   = slave(Frames())
    val request  = master(Stream(Fragment(Request())))
    val position = out UInt (64 bits)
    val idle     = out Bool ()

    val snapshot     = in Bool ()
    val accountsBusy = out Bool ()
    val index        = in UInt (Accounts.Width bits)
    val account      = out(AccountTable.Account())
  }
  noIoPrefix()
}
