// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.queue

import spinal.core._
import spinal.lib._

import lanebox.virtio.vocabulary.{EngineParam, RingFeatures}

/** Takes an available index over at once that comes with a notification, so that HeadReader begins
  * before QueueRunner gets to the queue. The index never goes back, though notifications may come
  * in another order than their indices: a driver on several processors may notify in another order
  * than it has published.
  *
  * While QueueRunner judges another index (`judged`), it alone serves the notification. The card's
  * bus leaves at least one cycle between two notifications. Without it, the second one would be
  * compared with the index that was known before the first one.
  */
case class NotifiedIndex(
    p: EngineParam,
    states: QueueStates,
    contexts: Vec[QueueContext],
    features: Vec[RingFeatures],
    notification: Kick
) extends Area {
  val kick                             = RegNext(notification)
  val comes                            = RegNext(notification.pairs.orR) init False
  val to                               = OHToUInt(kick.pairs)
  def its[T <: Data](parts: Vec[T]): T = if (p.pairs == 1) parts(0) else parts(to)
  val now                              = its(states.taken)
  val ahead =
    if (!p.packed) kick.index - now
    else
      its(features).packed ? PackedRing.ahead(kick.index, now, its(contexts).size) |
        (kick.index - now)
  val adds = RegNext(
    comes && kick.hinted && ahead <= its(contexts).size && ahead.resize(p.knownWidth) >
      its(states.known) - now.resize(p.knownWidth)
  ) init False
  val pair   = RegNext(to)
  val index  = RegNext((if (p.packed) now + ahead else kick.index).resize(p.knownWidth))
  val judged = Bool()
  for (n <- 0 until p.pairs) when(adds && pair === n && !judged) {
    states.known(n)  := index
    states.empty(n)  := False
    states.kicked(n) := False
    states.hinted(n) := False
  }
}
