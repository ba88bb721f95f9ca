// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rq

import scala.collection.mutable
import scala.util.Random
import spinal.core.sim._
import spinal.lib._

import lanebox.vocabulary.Request

/** Hands over the requests of `queue` at a client's port of the request path, one after the other.
  *
  * `pause` says in each cycle whether the next beat is held back. Lanes after the end of a write's
  * data have random values.
  */
class RequestSender(port: Stream[Fragment[Request]], random: Random)(pause: => Boolean) {
  val queue                          = mutable.Queue[ClientRequest]()
  var taken                          = 0 // Number of requests that the port has taken in full.
  var onTaken: ClientRequest => Unit = _ => ()
  private var beat                   = 0
  private var driven                 = false
  port.valid #= false

  /** Reads the client's port as it was at the clock edge, then drives it for the next cycle. */
  def cycle(): Unit = {
    if (driven && port.ready.toBoolean) {
      driven = false
      beat += 1
      if (beat == queue.head.beats) {
        beat = 0
        taken += 1
        onTaken(queue.dequeue())
      }
    }
    if (!driven && queue.nonEmpty && !pause) offer(queue.head)
    port.valid #= driven
  }

  private def offer(request: ClientRequest): Unit = {
    val payload = port.payload
    driven = true
    payload.write #= request.write
    payload.address #= request.address
    payload.dwords #= request.dwords
    payload.firstBe #= request.firstBe
    payload.lastBe #= request.lastBe
    payload.attributes #= request.attributes
    payload.context #= request.context
    payload.last #= beat == request.beats - 1
    val data = request.data.slice(8 * beat, 8 * beat + 8)
    payload.data #= data.padTo(8, random.nextInt() & 0xffffffffL).foldRight(BigInt(0)) {
      case (dword, above) => (above << 32) + dword
    }
  }
}
