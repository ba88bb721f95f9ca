// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rc

import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.SpinalEnumElement
import spinal.core.sim._

import lanebox.vocabulary.ReadError

/** A read TLP as RequestPath announces it to the return path. It asks for `dwords` dwords of its
  * client's request, from dword `at` on.
  */
case class TestClaim(
    client: Int,
    request: TestRequest,
    at: Int,
    address: Int,
    dwords: Int,
    firstBe: Int,
    lastBe: Int
) {
  val errors        = mutable.Set[SpinalEnumElement[ReadError.type]]()
  def last: Boolean = at + dwords == request.dwords
}

case class TestRequest(address: Int, dwords: Int, firstBe: Int, lastBe: Int, context: Int)

/** Models of the return path's clients, which read host memory. They cut their requests into TLPs
  * as RequestPath does.
  *
  * Every delivered beat is compared with memory. A beat with dwords of a failed read must be zero,
  * and must carry the error of one of its failed reads.
  */
class ReturnClients(dut: ReturnPath, host: ReturnHost, random: Random, mrrs: Int) {
  val clients = dut.p.clients

  /** `request(n)` gives the next request of client n, or None. */
  var request: Int => Option[TestRequest] = _ => None
  val takes: Array[Double]                = Array.fill(clients)(1.0)
  // Chance, in a cycle, that the next read TLP is announced to the return path.
  var offers = 1.0
  val tags   = mutable.Set[Int]()

  private val claims                     = Array.fill(clients)(mutable.Queue[TestClaim]())
  private val asked                      = Array.fill(clients)(mutable.Queue[Seq[TestClaim]]())
  private val beat                       = Array.fill(clients)(0)
  private var offered: Option[TestClaim] = None

  val beats, requests, delivered = Array.fill(clients)(0L)
  var claimed, failedBeats       = 0L

  def idle: Boolean = offered.isEmpty && claims.forall(_.isEmpty) && asked.forall(_.isEmpty)

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
    port.lastOfRequest #= claim.last
  }

  /** Cuts a client's request into read TLPs at 4 KiB boundaries and at the largest read size. */
  private def cut(client: Int, request: TestRequest): Unit = {
    requests(client) += 1
    val reads = mutable.Buffer[TestClaim]()
    var at    = 0
    while (at < request.dwords) {
      val address = request.address + at * 4
      val dwords =
        (request.dwords - at) min 128 min (mrrs / 4) min ((4096 - address % 4096) / 4)
      val first  = at == 0
      val last   = at + dwords == request.dwords
      val ends   = if (last && request.dwords > 1) request.lastBe else 15
      val single = dwords == 1 && !first
      reads += TestClaim(
        client,
        request,
        at,
        address,
        dwords,
        firstBe = if (first) request.firstBe else if (single) ends else 15,
        lastBe = if (dwords == 1) 0 else ends
      )
      at += dwords
    }
    claims(client) ++= reads
    asked(client) += reads.toSeq
  }

  private def deliver(): Unit = for (client <- 0 until clients) {
    val port = dut.io.returns(client)
    if (port.valid.toBoolean && port.ready.toBoolean) check(client)
    if (dut.io.delivered(client).toBoolean) delivered(client) += 1
    port.ready #= random.nextDouble() < takes(client)
  }

  private def check(client: Int): Unit = {
    val port = dut.io.returns(client)
    assert(asked(client).nonEmpty, s"client $client gets a beat that it did not ask for")
    val reads   = asked(client).head
    val request = reads.head.request
    val first   = beat(client) * 8
    val dwords  = (request.dwords - first) min 8
    val last    = first + dwords == request.dwords
    val errors =
      reads.filter(r => r.at < first + dwords && r.at + r.dwords > first).flatMap(_.errors).toSet
    val failed  = errors.nonEmpty
    val address = request.address / 4 + first
    val words   = Seq.tabulate(8)(i => if (i < dwords && !failed) host.memory(address + i) else 0)
    val error   = port.error.toEnum
    val where   = s"client $client, dword $first of $request"
    if (failed) assert(errors(error), s"$where: error $error, not one of $errors")
    else assert(error == ReadError.none, s"$where: error $error, but no read failed")
    assert(port.fragment.data.toBigInt == RcPins.bits(words), s"$where: wrong data")
    assert(port.dwords.toInt == request.dwords, s"$where: wrong length")
    assert(port.context.toInt == request.context, s"$where: wrong context")
    assert(port.last.toBoolean == last, s"$where: wrong last")
    beats(client) += 1
    if (failed) failedBeats += 1
    beat(client) += 1
    if (last) {
      beat(client) = 0
      asked(client).dequeue()
    }
  }
}
