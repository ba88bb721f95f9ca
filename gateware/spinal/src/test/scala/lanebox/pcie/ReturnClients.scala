// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.SpinalEnumElement
import spinal.core.sim._

/** One read TLP, as RequestPath asks for it. */
case class TestClaim(
    client: Int,
    request: TestRequest,
    slot: TestSlot,
    address: Int,
    dwords: Int,
    firstBe: Int,
    lastBe: Int,
    firstOfSlot: Boolean,
    lastOfSlot: Boolean
)

case class TestRequest(address: Int, dwords: Int, firstBe: Int, lastBe: Int, context: Int)

/** Up to 512 B of a request, and the errors of its reads. */
class TestSlot(val request: TestRequest, val at: Int, val dwords: Int) {
  val errors        = mutable.Set[SpinalEnumElement[ReadError.type]]()
  def last: Boolean = at + dwords == request.dwords
}

/** The reading clients in front of a return path, with the cutting that RequestPath does.
  *
  * Every delivered beat is compared with memory; those of a slot with a failed read are zero and
  * carry the error of one of its reads.
  */
class ReturnClients(dut: ReturnPath, host: ReturnHost, random: Random, mrrs: Int) {
  val clients = dut.p.clients

  /** What a client asks for next, if anything, and how likely it takes a beat. */
  var request: Int => Option[TestRequest] = _ => None
  val takes: Array[Double]                = Array.fill(clients)(1.0)
  var offers                              = 1.0 // Chance of a claim in a cycle.
  val tags                                = mutable.Set[Int]()

  private val claims                     = Array.fill(clients)(mutable.Queue[TestClaim]())
  private val slots                      = Array.fill(clients)(mutable.Queue[TestSlot]())
  private val beat                       = Array.fill(clients)(0)
  private var offered: Option[TestClaim] = None

  val beats, requests, delivered = Array.fill(clients)(0L)
  var claimed, failedBeats       = 0L

  def idle: Boolean = offered.isEmpty && claims.forall(_.isEmpty) && slots.forall(_.isEmpty)

  def cycle(): Unit = {
    deliver()
    claim()
  }

  private def claim(): Unit = {
    val port = dut.io.claim
    if (offered.isDefined && port.ready.toBoolean) {
      val tag = dut.io.tag.toInt
      tags += tag
      claimed += 1
      host.issue(tag, offered.get)
      offered = None
    }
    if (offered.isEmpty && random.nextDouble() < offers) offered = choose()
    port.valid #= offered.isDefined
    offered.foreach(drive)
  }

  private def choose(): Option[TestClaim] = {
    for (client <- 0 until clients if claims(client).isEmpty)
      request(client).foreach(cut(client, _))
    val able = (0 until clients).filter(c => claims(c).nonEmpty && dut.io.room(c).toBoolean)
    if (able.isEmpty) None else Some(claims(able(random.nextInt(able.length))).dequeue())
  }

  private def drive(claim: TestClaim): Unit = {
    val port = dut.io.claim
    if (clients > 1) port.client #= claim.client
    port.context #= claim.request.context
    port.dwords #= claim.dwords
    port.address #= claim.address & 0xfff
    port.firstBe #= claim.firstBe
    port.lastBe #= claim.lastBe
    port.requestDwords #= claim.request.dwords
    port.firstOfSlot #= claim.firstOfSlot
    port.lastOfSlot #= claim.lastOfSlot
    port.lastOfRequest #= claim.lastOfSlot && claim.slot.last
  }

  /** Slots of 512 B from the first dword, reads up to 4 KiB boundaries and the largest size. */
  private def cut(client: Int, request: TestRequest): Unit = {
    requests(client) += 1
    for (start <- 0 until request.dwords by 128) {
      val slot = new TestSlot(request, start, (request.dwords - start) min 128)
      slots(client) += slot
      var at = 0
      while (at < slot.dwords) {
        val address = request.address + (start + at) * 4
        val dwords  = (slot.dwords - at) min (mrrs / 4) min ((4096 - address % 4096) / 4)
        val first   = start + at == 0
        val last    = start + at + dwords == request.dwords
        val ends    = if (last && request.dwords > 1) request.lastBe else 15
        val single  = dwords == 1 && !first
        claims(client) += TestClaim(
          client,
          request,
          slot,
          address,
          dwords,
          firstBe = if (first) request.firstBe else if (single) ends else 15,
          lastBe = if (dwords == 1) 0 else ends,
          firstOfSlot = at == 0,
          lastOfSlot = at + dwords == slot.dwords
        )
        at += dwords
      }
    }
  }

  private def deliver(): Unit = for (client <- 0 until clients) {
    val port = dut.io.returns(client)
    if (port.valid.toBoolean && port.ready.toBoolean) check(client)
    if (dut.io.delivered(client).toBoolean) delivered(client) += 1
    port.ready #= random.nextDouble() < takes(client)
  }

  private def check(client: Int): Unit = {
    val port = dut.io.returns(client)
    assert(slots(client).nonEmpty, s"client $client gets a beat that it did not ask for")
    val slot    = slots(client).head
    val first   = beat(client) * 8
    val dwords  = (slot.dwords - first) min 8
    val ends    = first + dwords == slot.dwords
    val failed  = slot.errors.nonEmpty
    val address = slot.request.address / 4 + slot.at + first
    val words   = Seq.tabulate(8)(i => if (i < dwords && !failed) host.memory(address + i) else 0)
    val error   = port.error.toEnum
    val where   = s"client $client, dword ${slot.at + first} of ${slot.request}"
    if (failed) assert(slot.errors(error), s"$where: error $error, not one of ${slot.errors}")
    else assert(error == ReadError.none, s"$where: error $error without reason")
    assert(port.fragment.data.toBigInt == RcPins.bits(words), s"$where: wrong data")
    assert(port.dwords.toInt == slot.request.dwords, s"$where: wrong length")
    assert(port.context.toInt == slot.request.context, s"$where: wrong context")
    assert(port.last.toBoolean == (ends && slot.last), s"$where: wrong last")
    beats(client) += 1
    if (failed) failedBeats += 1
    beat(client) += 1
    if (ends) {
      beat(client) = 0
      slots(client).dequeue()
    }
  }
}
