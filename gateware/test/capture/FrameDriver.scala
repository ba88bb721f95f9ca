// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture

import scala.util.Random
import spinal.core.sim._
import spinal.lib._

import lanebox.vocabulary.Frames

/** Drives frames into a frame port of the capture block, beat by beat. `next` gives the next frame,
  * or None. `pauses` is the chance in a cycle that no new beat is offered.
  */
class FrameDriver(port: Stream[Fragment[Frames.Beat]], random: Random)(next: => Option[TestFrame]) {
  var pauses = 0.0
  // Is called with a frame when the port has taken the frame's first beat.
  var begun: TestFrame => Unit         = _ => ()
  private var frame: Option[TestFrame] = None
  private var beat                     = 0
  private var offered                  = false
  def idle: Boolean                    = frame.isEmpty

  /** Samples the port's `ready`, then drives the port. The bench calls this once in each cycle,
    * after the clock edge.
    */
  def cycle(): Unit = {
    if (offered && port.ready.toBoolean) {
      if (beat == 0) begun(frame.get)
      beat += 1
      if (beat == frame.get.beats) frame = None
      offered = false
    }
    if (!offered) {
      if (frame.isEmpty) {
        frame = next
        beat = 0
      }
      if (frame.nonEmpty && random.nextDouble() >= pauses) {
        drive(frame.get)
        offered = true
      }
    }
    port.valid #= offered
  }

  private def drive(f: TestFrame): Unit = {
    val last = beat == f.beats - 1
    val part = f.data.slice(32 * beat, 32 * beat + 32)
    val junk = Seq.fill(32 - part.size)(random.nextInt().toByte)
    port.data #= TestFrame.bits(part ++ junk)
    port.last #= last
    port.bytes #= (if (last) f.data.size % 32 else random.nextInt(32))
    port.error #= f.error
    // A frame's `head` (time, port, lengths) is valid only in its first beat, so later beats have
    // random values in it.
    val first = beat == 0
    port.head.time #= (if (first) f.time else random.nextLong() & Long.MaxValue)
    port.head.original #= (if (first) f.original else random.nextInt(1 << 16))
    port.head.kept #= (if (first) f.data.size else random.nextInt(1 << 14))
    port.head.port #= (if (first) f.port else random.nextInt(16))
    port.head.flags #= (if (first) f.flags else random.nextInt() & 0xffffffffL)
  }
}
