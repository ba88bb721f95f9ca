// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rq

import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable
import scala.language.reflectiveCalls
import spinal.core._
import spinal.core.sim._
import spinal.lib.sim.{StreamDriver, StreamMonitor, StreamReadyRandomizer}

import lanebox.vocabulary.{LaneboxSim, Seed}

/** Tests that RequestCutter cuts a client's request into pieces (one TLP each) where PCIe demands
  * it and nowhere else, and that every piece has the right fields.
  */
class RequestCutterTest extends AnyFunSuite {
  val param = RequestParam(Seq(ClientConfig("dma", reads = true, writes = true)))

  /** Returns the fields that the pieces (TLPs) of a request must have, in order. `row` is the row
    * of the write buffer with the request's first beat, `largest` the largest piece in dwords.
    */
  def expected(request: ClientRequest, row: Int, largest: Int): Seq[Map[String, BigInt]] = {
    import request._
    val cuts = RequestModel.cuts(address, dwords, largest)
    cuts.scanLeft(0)(_ + _).zip(cuts).map { case (at, size) =>
      val end      = at + size
      val last     = end == dwords
      val position = row * 8 + at
      Map[String, BigInt](
        "write"         -> (if (write) 1 else 0),
        "address"       -> (address / 4 + at),
        "dwords"        -> size,
        "firstBe"       -> enables(at),
        "lastBe"        -> (if (size == 1) 0 else enables(end - 1)),
        "attributes"    -> attributes,
        "lastOfRequest" -> (if (last) 1 else 0)
      ) ++ (if (write)
              Map[String, BigInt](
                "moreBeats" -> ((size + 4 + 7) / 8 - 1),
                "start"     -> ((position - 4 + 512)      % 512),
                "lastRow"   -> ((position + size - 1) / 8 % 64)
              )
            else
              Map[String, BigInt](
                "moreBeats"     -> 0,
                "context"       -> context,
                "requestDwords" -> dwords
              ))
    }
  }

  def seen(piece: RequestPiece): Map[String, BigInt] = piece.elements.map {
    case (name, data: Bool) => name -> BigInt(if (data.toBoolean) 1 else 0)
    case (name, data: UInt) => name -> data.toBigInt
    case (name, data: Bits) => name -> data.toBigInt
    case (name, other)      => fail(s"$name is a $other")
  }.toMap

  lazy val compiled = LaneboxSim(RequestCutter(param))

  /** Runs `requests` through RequestCutter with pieces (TLPs) of up to 128 * 2^`code` bytes.
    * Returns the cycles from the first to the last piece.
    */
  def run(name: String, seed: Int, code: Int, stalls: Boolean)(
      requests: scala.util.Random => Iterator[ClientRequest]
  ): Long = {
    var cycles = 0L
    compiled.doSim(name, seed) { dut =>
      dut.clockDomain.forkStimulus(10)
      val largest = 32 << code
      val source  = requests(simRandom)
      val awaited = mutable.Queue[Map[String, BigInt]]()
      var first   = -1L
      var now     = 0L
      dut.io.payloadDwords #= largest
      dut.io.readDwords #= largest
      dut.clockDomain.onSamplings(now += 1)
      val driver = StreamDriver(dut.io.request, dut.clockDomain) { header =>
        source.hasNext && {
          val request = source.next()
          val row     = simRandom.nextInt(64)
          header.write #= request.write
          header.address #= request.address / 4
          header.dwords #= request.dwords
          header.firstBe #= request.firstBe
          header.lastBe #= request.lastBe
          header.attributes #= request.attributes
          header.context #= request.context
          header.row #= row
          awaited ++= expected(request, row, largest)
          true
        }
      }
      if (!stalls) driver.transactionDelay = () => 0
      StreamMonitor(dut.io.pieces, dut.clockDomain) { piece =>
        val got  = seen(piece)
        val want = awaited.dequeue()
        assert(want.forall { case (key, value) => got(key) == value }, s"got $got, not $want")
        if (first < 0) first = now
        cycles = now - first + 1
      }
      if (stalls) StreamReadyRandomizer(dut.io.pieces, dut.clockDomain)
      else dut.io.pieces.ready #= true
      while (source.hasNext) dut.clockDomain.waitSampling(16)
      // The wait for the last pieces has a limit. The cutter and its driver may hold several
      // requests, each of up to 33 pieces.
      val latest = now + 5000
      while (awaited.nonEmpty && now < latest) dut.clockDomain.waitSampling()
      assert(awaited.isEmpty, s"${awaited.size} pieces never came")
      // A piece too many from RequestCutter would come in these cycles and fail the test.
      dut.clockDomain.waitSampling(200)
    }
    cycles
  }

  val requests = 10000
  for (code <- 0 to 2)
    test(s"pieces of up to ${128 << code} B, seed ${Seed.value}") {
      run(s"random$code", Seed.value, code, stalls = true) { r =>
        Iterator.fill(requests) {
          val page    = BigInt(52, r) << 12
          val address = page + RequestModel.anyOffset(r)
          RequestModel.random(r, r.nextBoolean(), address, RequestModel.anyDwords(r))
        }
      }
    }

  test(s"every number of dwords, and every distance to 4 KiB, seed ${Seed.value}") {
    run("every", Seed.value, 0, stalls = false) { r =>
      Iterator.tabulate(2 * 1024) { i =>
        RequestModel.random(r, i % 2 == 0, BigInt(0xfffff000L) + 4 * r.nextInt(1024), i / 2 + 1)
      } ++ Iterator.tabulate(2 * 1024) { i =>
        RequestModel.random(r, i % 2 == 0, BigInt(0xfffff000L) + 4 * (i / 2), 1 + r.nextInt(1024))
      }
    }
  }

  test(s"small requests pass in every cycle, seed ${Seed.value}") {
    val cycles = run("small", Seed.value, 0, stalls = false) { r =>
      Iterator.fill(1000)(RequestModel.random(r, r.nextBoolean(), 0, 1 + r.nextInt(32))) ++
        Iterator.fill(1000)(RequestModel.random(r, r.nextBoolean(), 4092, 1))
    }
    assert(cycles == 2000)
  }

  test(s"the pieces of other requests pass in every second cycle, seed ${Seed.value}") {
    val cycles = run("large", Seed.value, 0, stalls = false) { r =>
      Iterator.fill(1000)(RequestModel.random(r, r.nextBoolean(), 0, 64))
    }
    assert(cycles == 2 * 2000 - 1)
  }
}
