// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.interrupt

import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._

import lanebox.vocabulary.{LaneboxSim, Seed}

/** Tests that the card's MsixTable turns interrupt causes into messages by the rules of MSI-X (PCI
  * specification), and never loses an interrupt.
  */
class MsixTableTest extends AnyFunSuite {
  val vectors = 32
  val control = 3

  lazy val compiled = LaneboxSim(MsixTable(vectors))

  /** Drives the MSI-X table as software does, and models the fence and RQ behind it. */
  class Bench(dut: MsixTable) {
    val random   = new Random(simRandom.nextLong())
    val table    = Array.fill(vectors, 4)(0L)
    val messages = mutable.ArrayBuffer[(BigInt, Long)]()
    // The interrupt message that the modelled fence holds, and for how many more cycles.
    var fence = Option.empty[(BigInt, Int)]
    // The longest time, in cycles, for which the modelled fence holds a message.
    var delay = 20
    var hold  = false
    // While true, the model of RQ takes no interrupt message.
    var busy = false
    // While true, an interrupt message that the queue before RQ has taken does not reach RQ.
    var stuck = false
    var onWay = false

    dut.io.enable #= true
    dut.io.functionMask #= false
    dut.io.irqs #= 0
    dut.io.registers.write #= false
    dut.io.registers.address #= 0
    dut.io.fenced.valid #= false
    dut.io.fence.ready #= true
    dut.io.message.offer.ready #= false
    dut.io.message.shown #= false
    dut.io.message.dropped #= false

    dut.clockDomain.onSamplings {
      if (dut.io.fence.valid.toBoolean && dut.io.fence.ready.toBoolean)
        fence = Some((dut.io.fence.payload.toBigInt, 1 + random.nextInt(delay)))
      else if (dut.io.fenced.valid.toBoolean && dut.io.fenced.ready.toBoolean) fence = None
      fence = fence.map { case (message, left) => (message, if (hold) left else left - 1) }
      dut.io.fence.ready #= fence.isEmpty
      dut.io.fenced.valid #= fence.exists(_._2 <= 0)
      for ((message, _) <- fence) dut.io.fenced.payload #= message

      // The model of RQ shows an interrupt message some time after it took the message, unless the
      // MSI-X table withdraws the message before that.
      val port    = dut.io.message
      val offer   = port.offer
      val reaches = onWay && random.nextInt(4) == 0 && !stuck
      val drops   = reaches && port.withdraw.toBoolean
      port.shown #= reaches && !drops
      port.dropped #= drops
      if (reaches) onWay = false
      if (reaches && !drops) messages += ((offer.address.toBigInt, offer.data.toLong))
      if (offer.valid.toBoolean && offer.ready.toBoolean) {
        assert(!onWay, "two messages on their way")
        onWay = true
      }
      offer.ready #= random.nextInt(3) == 0 && !busy
    }
    dut.clockDomain.waitSampling(3)

    def write(vector: Int, field: Int, value: Long): Unit = {
      table(vector)(field) = value
      dut.io.registers.address #= 4 * vector + field
      dut.io.registers.writeData #= value
      dut.io.registers.write #= true
      dut.clockDomain.waitSampling()
      dut.io.registers.write #= false
    }
    def read(address: Int): Long = {
      dut.io.registers.address #= address
      dut.clockDomain.waitSampling(2)
      dut.io.registers.readData.toLong
    }
    def pending: Long = read(4 * vectors)

    def mask(vector: Int, masked: Boolean): Unit =
      write(vector, control, if (masked) 1 else 0)
    def fill(): Unit = for (vector <- 0 until vectors) {
      write(vector, 0, (random.nextInt() & 0xfffffffcL))
      write(vector, 1, if (random.nextBoolean()) 0 else random.nextInt() & 0xffffffffL)
      write(vector, 2, random.nextInt() & 0xffffffffL)
    }
    def raise(set: Int*): Unit = {
      dut.io.irqs #= set.map(BigInt(1) << _).sum
      dut.clockDomain.waitSampling()
      dut.io.irqs #= 0
    }
    def expected(vector: Int): (BigInt, Long) =
      ((BigInt(table(vector)(1)) << 32) + table(vector)(0), table(vector)(2))
    def settle(): Unit = dut.clockDomain.waitSampling(100 + 40 * vectors)
  }

  def check(name: String)(body: (MsixTable, Bench) => Unit): Unit =
    test(s"$name, seed ${Seed.value}") {
      compiled.doSim(name.filter(_.isLetterOrDigit), Seed.value) { dut =>
        dut.clockDomain.forkStimulus(10)
        body(dut, new Bench(dut))
      }
    }

  check("the table reads as written, and every vector is masked after reset") { (dut, bench) =>
    for (vector <- 0 until vectors) assert(bench.read(4 * vector + control) == 1)
    bench.fill()
    for (vector <- 0 until vectors; field <- 0 to 2)
      assert(bench.read(4 * vector + field) == bench.table(vector)(field))
    bench.mask(7, false)
    for (vector <- 0 until vectors)
      assert(bench.read(4 * vector + control) == (if (vector == 7) 0 else 1))
    assert(bench.pending == 0 && bench.read(4 * vectors + 1) == 0)
  }

  check("a vector sends its own address, of 64 bits, and its own data, once") { (dut, bench) =>
    bench.fill()
    for (vector <- 0 until vectors) bench.mask(vector, false)
    for (vector <- bench.random.shuffle((0 until vectors).toList)) {
      bench.raise(vector)
      bench.settle()
      assert(bench.messages.toSeq == Seq(bench.expected(vector)))
      bench.messages.clear()
    }
    bench.raise(0 until vectors: _*)
    bench.settle()
    assert(bench.messages.toSet == (0 until vectors).map(bench.expected).toSet)
    assert(bench.messages.size == vectors && bench.pending == 0)
  }

  // Three methods to hold an interrupt vector back: name, how to begin, and how to end.
  for (
    (what, close, open) <- Seq[(String, (MsixTable, Bench) => Unit, (MsixTable, Bench) => Unit)](
      ("its mask", (_, bench) => bench.mask(5, true), (_, bench) => bench.mask(5, false)),
      (
        "the function mask",
        (dut, _) => dut.io.functionMask #= true,
        (dut, _) => dut.io.functionMask #= false
      ),
      ("MSI-X being off", (dut, _) => dut.io.enable #= false, (dut, _) => dut.io.enable #= true)
    )
  ) {
    check(s"a vector that $what holds back stays pending and is sent later, once") { (dut, bench) =>
      bench.fill()
      bench.mask(5, false)
      close(dut, bench)
      for (_ <- 0 until 3) bench.raise(5)
      bench.settle()
      assert(bench.messages.isEmpty && bench.pending == 1 << 5)
      open(dut, bench)
      bench.settle()
      assert(bench.messages.toSeq == Seq(bench.expected(5)) && bench.pending == 0)
    }

    check(s"$what holds a vector back that waits at the fence") { (dut, bench) =>
      bench.fill()
      bench.mask(5, false)
      bench.hold = true
      bench.raise(5)
      dut.clockDomain.waitSampling(20)
      assert(bench.fence.nonEmpty && bench.pending == 1 << 5)
      close(dut, bench)
      dut.clockDomain.waitSampling(2)
      bench.hold = false
      bench.settle()
      assert(bench.messages.isEmpty && bench.pending == 1 << 5)
      open(dut, bench)
      bench.settle()
      assert(bench.messages.toSeq == Seq(bench.expected(5)) && bench.pending == 0)
    }
  }

  // The places where an interrupt message may be when its vector is masked. For each place: how the
  // bench holds the message there, and how it lets the message go.
  for (
    (where, halt, let) <- Seq[(String, Bench => Unit, Bench => Unit)](
      ("for RQ to take it", _.busy = true, _.busy = false),
      ("on its way to RQ", _.stuck = true, _.stuck = false)
    )
  ) {
    check(s"a message that waits $where is taken back when it is masked") { (dut, bench) =>
      bench.fill()
      bench.mask(5, false)
      halt(bench)
      bench.raise(5)
      dut.clockDomain.waitSampling(100)
      assert(bench.messages.isEmpty && bench.pending == 1 << 5)
      bench.mask(5, true)
      dut.clockDomain.waitSampling(2)
      let(bench)
      bench.settle()
      assert(bench.messages.isEmpty && bench.pending == 1 << 5)
      bench.mask(5, false)
      bench.settle()
      assert(bench.messages.toSeq == Seq(bench.expected(5)) && bench.pending == 0)
    }

    check(s"a message that waits $where is read anew if it was masked") { (dut, bench) =>
      bench.fill()
      bench.mask(5, false)
      halt(bench)
      bench.raise(5)
      dut.clockDomain.waitSampling(100)
      bench.mask(5, true)
      bench.fill()
      bench.mask(5, false)
      dut.clockDomain.waitSampling(bench.random.nextInt(20))
      let(bench)
      bench.settle()
      assert(bench.messages.toSeq == Seq(bench.expected(5)) && bench.pending == 0)
    }
  }

  check("an interrupt that comes while its vector is at the fence is sent again") { (dut, bench) =>
    bench.fill()
    bench.mask(5, false)
    bench.hold = true
    bench.raise(5)
    dut.clockDomain.waitSampling(20)
    for (_ <- 0 until 3) bench.raise(5)
    bench.hold = false
    bench.settle()
    assert(bench.messages.toSeq == Seq.fill(2)(bench.expected(5)))
  }

  check("every vector has its turn, however often the others come") { (dut, bench) =>
    bench.fill()
    for (vector <- 0 until vectors) bench.mask(vector, false)
    dut.io.irqs #= (BigInt(1) << vectors) - 1
    dut.clockDomain.waitSamplingWhere(20000)(bench.messages.size >= 3 * vectors)
    assert(bench.messages.take(3 * vectors).groupBy(identity).values.forall(_.size == 3))
  }

  check("no interrupt is lost, whichever vectors are masked at any time") { (dut, bench) =>
    import bench.random
    bench.fill()
    for (vector <- 0 until vectors) bench.mask(vector, false)
    val open = Array.fill(vectors)(true)
    for (_ <- 0 until 100) {
      val seen   = bench.messages.size
      val raised = (0 until vectors).filter(_ => random.nextInt(4) == 0)
      if (random.nextInt(4) == 0) dut.io.functionMask.randomize()
      for (vector <- raised.filter(_ => random.nextInt(4) == 0)) bench.mask(vector, true)
      bench.raise(raised: _*)
      dut.clockDomain.waitSampling(random.nextInt(60))
      for (vector <- raised) bench.mask(vector, false)
      dut.io.functionMask #= false
      bench.settle()
      val now = bench.messages.drop(seen)
      assert(now.toSet == raised.map(bench.expected).toSet && now.size == raised.size)
    }
  }
}
