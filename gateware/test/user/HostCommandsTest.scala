// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.user

import org.scalatest.funsuite.AnyFunSuite
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.vocabulary.{LaneboxSim, Numbers, Seed}

/** Tests that every command of user logic has the effect that it has in a copy of the memory, and
  * ends, in order and with the right error, whatever stalls.
  *
  * The environment variable LANEBOX_COMMANDS has the number of commands of the campaign.
  */
class HostCommandsTest extends AnyFunSuite {
  import CommandUser.Command
  lazy val compiled = LaneboxSim(HostCommands())

  val Campaign = sys.env.getOrElse("LANEBOX_COMMANDS", "10000").toInt
  val Size     = 1 << 17
  val Quarter  = Size / 4 // The last quarter of the memory has holes: reads of it fail.
  val Hole     = 64

  /** A bench with the host's memory and a copy of it, in which each command is carried out when it
    * is given.
    */
  class Bench(dut: HostCommands, seed: Int) {
    dut.clockDomain.forkStimulus(10)
    val random = new Random(seed)
    val base   = (random.nextLong() & 0x7fffffffffL) << 16
    val host   = new CommandHost(dut, random, base, Size)
    val user   = new CommandUser(dut, random, host.writes)
    val copy   = host.memory.clone
    var given  = 0
    host.fails = address => if (inHole(address)) errorOf(address) else 0

    def inHole(address: Long): Boolean =
      address - base >= Size - Quarter && (address - base) / Hole % 4 == 3
    def errorOf(address: Long): Int = 1 + ((address - base) / Hole / 4 % 6).toInt

    /** Returns the error of a read: that of its first beat that fails, and 0 if none does. */
    private def failure(address: Long, bytes: Int): (Int, Set[Int]) = {
      val first  = address & ~3L
      val dwords = (first until address + bytes by 4).grouped(8).toSeq
      val errors = dwords.map(_.find(inHole).fold(0)(errorOf))
      val bad    = errors.indices.filter(errors(_) != 0).toSet
      (errors.find(_ != 0).getOrElse(0), bad)
    }

    def give(write: Boolean, at: Int, bytes: Int): Unit = {
      val address = base + at
      val refused = bytes == 0 || (address & 3) + bytes > Numbers.CommandBytes
      given += 1
      val context = given & 0xffff
      if (write) {
        val data = Seq.fill(bytes)(random.nextInt().toByte)
        if (!refused) for ((byte, i) <- data.zipWithIndex) copy(at + i) = byte
        val error = if (refused) Numbers.CommandRefused else 0
        user.give(Command(write, address, bytes, context, error), data.map(Some(_)))
      } else if (refused)
        user.give(Command(write, address, bytes, context, Numbers.CommandRefused), Nil)
      else {
        val (error, bad) = failure(address, bytes)
        val data = (0 until bytes).map { i =>
          // The request's beats begin at the first dword.
          val beat = ((address & 3) + i).toInt / 32
          if (bad(beat)) None else Some(copy(at + i))
        }
        user.give(Command(write, address, bytes, context, error), data)
      }
    }

    /** Returns whether a read that has not ended touches these bytes. If so, no write may change
      * them.
      */
    def isRead(at: Int, bytes: Int): Boolean = user.inFlight.exists { each =>
      val from = (each.address - base).toInt
      !each.write && from < at + bytes + 4 && at < from + each.bytes + 4
    }

    def anySize(): Int = random.nextInt(20) match {
      case 0           => random.nextInt(1 << Numbers.CommandBytesBits)
      case 1           => Numbers.CommandBytes - random.nextInt(8)
      case 2           => Numbers.CommandBytes + 1 + random.nextInt(8)
      case 3           => 0
      case n if n < 8  => 1 + random.nextInt(8)
      case n if n < 14 => 24 + random.nextInt(50)
      case _           => 1 + random.nextInt(300)
    }

    def giveAny(): Unit = {
      val write = random.nextBoolean()
      val bytes = anySize()
      val room  = if (write) Size - Quarter else Size
      val at = random.nextInt(4) match {
        case 0 => random.nextInt(room - bytes) & ~31
        case 1 => (room - bytes) / 4096 * 4096 + 4096 - (bytes min 4096) / 2
        case _ => random.nextInt(room - bytes)
      }
      val fits = at >= 0 && at + bytes <= room
      if (fits && !(write && isRead(at, bytes))) give(write, at, bytes)
    }

    def finish(): Unit = {
      while (!user.rests) dut.clockDomain.waitSampling()
      assert(host.memory.toSeq == copy.toSeq, "the memory is not as the commands should leave it")
      dut.clockDomain.waitSampling(100)
      assert(!dut.io.busy.toBoolean, "the block is busy without a command")
    }
  }

  test(s"$Campaign commands do what they say, whatever stalls, seed ${Seed.value}") {
    compiled.doSim("campaign", Seed.value) { dut =>
      val bench = new Bench(dut, Seed.value)
      import bench.random
      while (bench.given < Campaign) {
        if (random.nextInt(300) == 0) {
          bench.host.pauses = Seq(0.0, 0.1, 0.5, 0.9)(random.nextInt(4))
          bench.user.pauses = Seq(0.0, 0.1, 0.5, 0.9)(random.nextInt(4))
          bench.host.latency = Seq(1, 30, 1000)(random.nextInt(3))
        }
        if (bench.user.waiting < 20) bench.giveAny()
        dut.clockDomain.waitSampling(random.nextInt(3))
      }
      bench.finish()
      info(s"${bench.host.reads} reads, ${bench.host.writes} writes, ${bench.user.ended} ends")
      assert(bench.user.ended == bench.given && bench.host.reads > Campaign / 4)
    }
  }

  test(s"every place in a dword and every small size, seed ${Seed.value}") {
    compiled.doSim("sizes", Seed.value) { dut =>
      val bench = new Bench(dut, Seed.value)
      for (bytes <- (0 to 72) ++ (4090 to 4100); start <- 0 to 3; write <- Seq(true, false)) {
        bench.give(write, start + 36 * write.compare(false), bytes)
        while (bench.user.inFlight.nonEmpty) dut.clockDomain.waitSampling()
      }
      bench.finish()
    }
  }

  test(s"reads follow each other without a gap, also in flight, seed ${Seed.value}") {
    compiled.doSim("rate", Seed.value) { dut =>
      val bench = new Bench(dut, Seed.value)
      bench.host.pauses = 0
      bench.user.pauses = 0
      bench.host.latency = 1
      val count = 2000
      for (n <- 0 until count) bench.give(write = false, 64 * (n % 100), 64)
      var cycles = 0
      while (bench.user.inFlight.nonEmpty) {
        dut.clockDomain.waitSampling()
        cycles += 1
      }
      info(s"$cycles cycles for $count reads of 64 bytes")
      // Two beats of data for each read, and as many cycles.
      assert(cycles < 2 * count + 100)
      bench.finish()
    }
  }

  test(s"logic that takes nothing stops reads, and no data is lost, seed ${Seed.value}") {
    compiled.doSim("store", Seed.value) { dut =>
      val bench = new Bench(dut, Seed.value)
      bench.user.pauses = 0
      bench.host.pauses = 0
      dut.clockDomain.waitSampling(2)
      bench.user.takes = false
      for (n <- 0 until 40) bench.give(write = false, 4 * n, 1000)
      dut.clockDomain.waitSampling(4000)
      // Each read has 32 beats of data, so the store is full.
      assert(bench.host.reads == Numbers.CommandStoreBeats / 32)
      bench.user.takes = true
      bench.finish()
    }
  }

  test(s"logic that takes no ends stops commands, and no end is lost, seed ${Seed.value}") {
    compiled.doSim("ends", Seed.value) { dut =>
      val bench = new Bench(dut, Seed.value)
      bench.user.pauses = 0
      bench.host.pauses = 0
      bench.user.takes = false
      for (n <- 0 until 2 * Numbers.Commands) bench.give(write = n % 3 == 0, 32 * n, 4 * (n % 5))
      dut.clockDomain.waitSampling(10000)
      val begun = 2 * Numbers.Commands - bench.user.waiting
      assert(begun > Numbers.Commands - 8 && begun <= Numbers.Commands)
      bench.user.takes = true
      bench.finish()
    }
  }
}
