// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.queues

import java.net.InetAddress
import org.scalatest.funsuite.AnyFunSuite
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.vocabulary.{LaneboxSim, Seed}

/** Tests Toeplitz, the hash of addresses and ports. */
class ToeplitzTest extends AnyFunSuite {
  import ToeplitzTest._

  test("the hashes that Microsoft has published come out with Microsoft's key") {
    LaneboxSim(Toeplitz(Toeplitz.Microsoft)).doSim("microsoft", Seed.value) { dut =>
      dut.clockDomain.forkStimulus(10)
      for (each <- Vectors) {
        assert(hash(dut, each.addresses) == each.bare, s"$each without ports")
        assert(hash(dut, each.addresses ++ each.ports) == each.withPorts, s"$each")
      }
    }
  }

  test(s"both directions of a connection have the same hash, seed ${Seed.value}") {
    LaneboxSim(Toeplitz()).doSim("symmetric", Seed.value) { dut =>
      dut.clockDomain.forkStimulus(10)
      val r = new Random(Seed.value)
      for (size <- Seq(4, 16); _ <- 0 until 50) {
        def bytes(count: Int)    = Seq.fill(count)(r.nextInt(256))
        val (one, other)         = (bytes(size), bytes(size))
        val (onePort, otherPort) = (bytes(2), bytes(2))
        val there                = one ++ other ++ onePort ++ otherPort
        val back                 = other ++ one ++ otherPort ++ onePort
        val sent                 = hash(dut, there)
        assert(sent == hash(dut, back))
        assert(sent == FlowModel.toeplitz(Toeplitz.Symmetric, there))
      }
    }
  }

  private def hash(dut: Toeplitz, input: Seq[Int]): Long = {
    dut.io.input #= BigInt(1, input.map(_.toByte).toArray.padTo(Toeplitz.InputBits / 8, 0.toByte))
    dut.clockDomain.waitSampling(4)
    dut.io.hash.toLong
  }
}

object ToeplitzTest {

  /** Addresses and ports, and the hashes that Microsoft has published for them: of the addresses
    * alone, and with the ports of TCP (Windows driver documentation, "Verifying the RSS hash
    * calculation").
    */
  case class Vector(
      source: String,
      sourcePort: Int,
      destination: String,
      destinationPort: Int,
      bare: Long,
      withPorts: Long
  ) {
    private def address(text: String) = InetAddress.getByName(text).getAddress.map(_ & 0xff).toSeq
    def addresses: Seq[Int]           = address(source) ++ address(destination)
    def ports: Seq[Int] = Seq(sourcePort, destinationPort).flatMap(p => Seq(p >> 8, p & 0xff))
  }

  val Vectors = Seq(
    Vector("66.9.149.187", 2794, "161.142.100.80", 1766, 0x323e8fc2L, 0x51ccc178L),
    Vector("199.92.111.2", 14230, "65.69.140.83", 4739, 0xd718262aL, 0xc626b0eaL),
    Vector("24.19.198.95", 12898, "12.22.207.184", 38024, 0xd2d0a5deL, 0x5c2b394aL),
    Vector("38.27.205.30", 48228, "209.142.163.6", 2217, 0x82989176L, 0xafc7327fL),
    Vector("153.39.163.191", 44251, "202.188.127.2", 1303, 0x5d1809c5L, 0x10e828a2L),
    Vector("3ffe:2501:200:1fff::7", 2794, "3ffe:2501:200:3::1", 1766, 0x2cc18cd5L, 0x40207d3dL),
    Vector("3ffe:501:8::260:97ff:fe40:efab", 14230, "ff02::1", 4739, 0x0f0c461cL, 0xdde51bbfL),
    Vector(
      "3ffe:1900:4545:3:200:f8ff:fe21:67cf",
      44251,
      "fe80::200:f8ff:fe21:67cf",
      38024,
      0x4b61e985L,
      0x02d1feefL
    )
  )
}
