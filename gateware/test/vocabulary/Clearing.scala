// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.vocabulary

import scala.collection.mutable
import scala.util.Random
import spinal.core._
import spinal.core.sim._

/** Checks that `clear` sets the counters of a block to zero. Clearing finds all 32-bit counters in
  * the block's bundle by their type, so that a test needs no list of their names.
  */
object Clearing {
  def counters(bundle: Bundle): Seq[(String, Long)] =
    bundle.elements.toSeq.collect { case (name, n: UInt) if n.getWidth == 32 => (name, n.toLong) }

  def zeros(bundle: Bundle): Seq[String] = counters(bundle).collect { case (name, 0) => name }

  /** Fails unless every counter has counted, except those named in `rest`, and all counters are
    * zero after one cycle of `clear`.
    */
  def check(bundle: Bundle, clear: Bool, clock: ClockDomain, rest: Set[String] = Set()): Unit = {
    assert(
      zeros(bundle).forall(rest.contains),
      s"these have not counted: ${zeros(bundle)}"
    )
    clear #= true
    clock.waitSampling()
    clear #= false
    clock.waitSampling(2)
    val left = counters(bundle).filter(_._2 != 0)
    assert(left.isEmpty, s"not zero after the clear: $left")
  }

  /** Sets `clear` at random, also in the cycle of an event. After a clear a counter must hold only
    * later events.
    *
    * Each counter named in `busy` must have been higher than `since` before at least one of the
    * clears.
    */
  def underLoad(bundle: Bundle, clear: Bool, random: Random, busy: Set[String])(
      cycle: => Unit
  ): Unit = {
    // Cycles that pass between a clear and the check of the counters. A counter counts at most one
    // event in each of them.
    val since   = 2
    def above   = counters(bundle).filter { case (name, n) => busy(name) && n > since }
    val counted = mutable.Set[String]()
    for (_ <- 0 until 200) {
      for (_ <- 0 until 10 + random.nextInt(40)) cycle
      counted ++= above.map(_._1)
      clear #= true
      cycle
      clear #= false
      for (_ <- 0 until since) cycle
      assert(above.isEmpty, s"more than $since, $since cycles after the clear: $above")
    }
    assert(counted == busy, s"these have not counted: ${busy -- counted}")
  }
}
