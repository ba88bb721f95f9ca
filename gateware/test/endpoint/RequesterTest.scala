// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.endpoint

import java.nio.file.{Files, Paths}
import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable
import scala.language.reflectiveCalls
import scala.util.Random
import spinal.core.sim._
import spinal.lib._

import lanebox.requester.rc.{HostTiming, RcPins, ReturnHost, TestClaim}
import lanebox.requester.rq.{ClientRequest, RequestModel, RequestSender, RequestTlp}
import lanebox.vocabulary.{
  Clearing,
  HardBlock,
  LaneboxConfig,
  LaneboxSim,
  ReadData,
  ReadError,
  Seed
}

/** Tests the request path (RQ) and the return path (RC) together, against a model of the host with
  * memory: data that a client wrote is read back unchanged.
  */
class RequesterTest extends AnyFunSuite {
  val vectors = 32
  val param   = RequesterParam(Seq("clients=rws,ws", s"msixVectors=$vectors"))
  // Number of dwords of host memory, from address 0 on, that client 0 writes and reads back.
  val area = 1 << 14
  // Byte address in host memory of the page that client 1 writes, behind the dwords of client 0.
  val ring          = 1 << 17
  lazy val compiled = LaneboxSim(Requester(param))

  /** Base address of the card's interrupt messages: above 4 GiB, and above the addresses of the
    * host's memory.
    */
  val messages = BigInt("fedc00000000", 16)

  def bytes(data: Seq[Long], enables: Int => Int): Seq[(Int, Int)] =
    for ((dword, i) <- data.zipWithIndex; lane <- 0 until 4 if (enables(i) >> lane & 1) == 1)
      yield (4 * i + lane, ((dword >> (8 * lane)) & 0xff).toInt)

  /** Model of the hard block and the host behind RQ and RC: memory, read requests, interrupts. */
  class Host(dut: Requester, random: Random) {
    val pins   = new RcPins(dut.io.rc, true)
    val memory = new ReturnHost(HostTiming(latency = r => 20 + r.nextInt(100)), random, pins)
    // Vectors of the interrupt messages that the host has got, in order of arrival.
    val arrived = mutable.Queue[Int]()
    var reads   = 0
    // While true, the model of the hard block returns no sequence number to the card, as if no
    // write had left the hard block.
    var holds = false
    // While true, the model of the hard block takes no beat on RQ.
    var blocks = false
    var now    = 0
    // The cycle in which the latest interrupt message was first offered on RQ.
    var shown = 0
    // Dwords of each client's write TLPs that have left the model of the hard block.
    val left            = Array(0, 0)
    private val numbers = mutable.Queue[RequestTlp]()
    private val dwords  = mutable.ArrayBuffer[Long]()
    private var head    = (0, 0, 0)
    // The hard block took an interrupt message on RQ in the cycle before.
    private var message = false
    // The card offered a beat on RQ in the cycle before, and the hard block did not take it.
    private var stands = false
    dut.io.rq.ready #= false
    dut.io.rc.valid #= false
    dut.io.sequence.numbers.foreach(_.valid #= false)

    def cycle(): Unit = {
      memory.cycle()
      now += 1
      assert(dut.io.msixSent.toBoolean == message, "msixSent must be set for a message's beat only")
      message = false
      val rq = dut.io.rq
      if (rq.valid.toBoolean && !stands && dwords.isEmpty && toMessages(rq)) shown = now
      stands = rq.valid.toBoolean && !rq.ready.toBoolean
      if (rq.valid.toBoolean && rq.ready.toBoolean) {
        if (dwords.isEmpty) head = (rq.firstBe.toInt, rq.lastBe.toInt, rq.sequence.toInt)
        val data = rq.data.toBigInt
        for (lane <- 0 until Integer.bitCount(rq.keep.toInt))
          dwords += ((data >> (32 * lane)) & 0xffffffffL).toLong
        if (rq.last.toBoolean) {
          take(RequestModel.decode(dwords.toIndexedSeq, head))
          dwords.clear()
        }
      }
      rq.ready #= random.nextInt(4) != 0 && !blocks
      val number = dut.io.sequence.numbers(0)
      val shows  = numbers.nonEmpty && !holds
      number.valid #= shows
      if (shows) leave(numbers.dequeue())
    }

    private def leave(tlp: RequestTlp): Unit = {
      dut.io.sequence.numbers(0).payload #= tlp.sequence
      if (tlp.write && tlp.address < messages) left(if (tlp.address < ring) 0 else 1) += tlp.dwords
    }

    private def toMessages(rq: Stream[Fragment[HardBlock.RqBeat]]): Boolean =
      (rq.data.toBigInt & ((BigInt(1) << 64) - 4)) >= messages

    private def take(tlp: RequestTlp): Unit = {
      RequestModel.check(tlp, 256, 512)
      numbers += tlp
      message = tlp.address >= messages
      if (message) {
        assert(tlp.write && tlp.dwords == 1 && tlp.firstBe == 0xf && tlp.attributes == 0)
        assert(tlp.address - messages < 16 * vectors, f"a message to ${tlp.address}%x")
        arrived += tlp.data.head.toInt
      } else if (!tlp.write) {
        val address = tlp.address.toInt
        reads += 1
        memory.issue(
          tlp.tag,
          TestClaim(0, null, 0, address, tlp.dwords, tlp.firstBe, tlp.lastBe)
        )
      } else {
        def enables(i: Int) =
          if (i == 0) tlp.firstBe else if (i == tlp.dwords - 1) tlp.lastBe else 0xf
        for ((at, byte) <- bytes(tlp.data, enables)) {
          val index = (tlp.address.toInt + at) / 4
          val shift = 8 * (at % 4)
          memory.memory(index) = (memory.memory(index) & ~(0xff << shift)) | byte << shift
        }
      }
    }
  }

  /** Test bench of the Requester with a model of the host. Client 0 reads back from host memory
    * what it wrote there.
    */
  class Bench(dut: Requester, timeoutCycles: Int) {
    val random           = new Random(simRandom.nextLong())
    val host             = new Host(dut, random)
    val senders          = dut.io.clients.map(new RequestSender(_, random)(random.nextInt(8) == 0))
    var toAsk, checked   = 0
    private val expected = mutable.Queue[ClientRequest]()
    private val words    = mutable.ArrayBuffer[Long]()

    dut.io.maxPayload #= 1
    dut.io.maxReadRequest #= 2
    dut.io.rcb128 #= false
    dut.io.busMaster #= true
    dut.io.timeoutCycles #= timeoutCycles
    dut.io.stop #= false
    dut.io.clear #= false
    dut.io.management.done #= false
    dut.io.interrupt.valid #= false
    dut.io.fenced.ready #= true
    dut.io.msixEnable #= true
    dut.io.msixMask #= false
    dut.io.msixIrqs #= 0
    dut.io.msixRegisters.write #= false
    dut.clockDomain.onSamplings {
      host.cycle()
      if (toAsk > 0 && senders(0).queue.size < 4) ask()
      senders.foreach(_.cycle())
      val back = dut.io.returns(0)
      if (back.valid.toBoolean && back.ready.toBoolean) takeBack(back)
      back.ready #= random.nextInt(4) != 0
    }
    // In these cycles the return path fills its pool of read tags.
    dut.clockDomain.waitSampling(300)

    /** Writes the entry of an interrupt vector in the card's MSI-X table and unmasks the vector. */
    def program(vector: Int, data: Int): Unit = {
      val address = messages + 16 * vector
      val words   = Seq(address & 0xffffffffL, address >> 32, BigInt(data), BigInt(0))
      for ((value, field) <- words.zipWithIndex) set(vector, field, value)
    }
    def set(vector: Int, field: Int, value: BigInt): Unit = {
      dut.io.msixRegisters.address #= 4 * vector + field
      dut.io.msixRegisters.writeData #= value
      dut.io.msixRegisters.write #= true
      dut.clockDomain.waitSampling()
      dut.io.msixRegisters.write #= false
    }
    def raise(vector: Int): Unit = {
      dut.io.msixIrqs #= BigInt(1) << vector
      dut.clockDomain.waitSampling()
      dut.io.msixIrqs #= 0
    }
    def pending: Long = {
      dut.io.msixRegisters.address #= 4 * vectors
      dut.clockDomain.waitSampling(3)
      dut.io.msixRegisters.readData.toLong
    }

    /** Asks for a write of whole dwords and for a read that must return that data.
      *
      * An address is not used again while a read of it is under way. A later write of the client
      * may pass the read, as on PCIe, and the read would then return the wrong data.
      */
    private def ask(): Unit = {
      val size    = RequestModel.anyDwords(random) min 300
      val address = BigInt(4 * random.nextInt(area - size))
      val end     = address + 4 * size
      if (expected.forall(other => other.address >= end || endOf(other) <= address)) {
        val write = RequestModel.random(random, write = true, address, size)
          .copy(firstBe = 0xf, lastBe = if (size == 1) 0 else 0xf)
        senders(0).queue ++= Seq(write, write.copy(write = false))
        expected += write
        toAsk -= 1
      }
    }
    private def endOf(request: ClientRequest): BigInt = request.address + 4 * request.dwords

    private def takeBack(back: Fragment[ReadData]): Unit = {
      val request = expected.head
      val data    = back.data.toBigInt
      assert(back.error.toEnum == ReadError.none, s"$request failed")
      assert(back.context.toInt == request.context && back.dwords.toInt == request.dwords)
      words ++= (0 until 8).map(lane => ((data >> (32 * lane)) & 0xffffffffL).toLong)
      if (back.last.toBoolean) {
        assert(words.size == 8 * request.beats, s"${words.size} dwords came for $request")
        val wrong = request.data.indices.filter(i => words(i) != request.data(i))
        assert(wrong.isEmpty, s"$request was read as $words, wrong at $wrong")
        assert(words.drop(request.dwords).forall(_ == 0), "bytes behind the data are not 0")
        words.clear()
        expected.dequeue()
        checked += 1
      }
    }

    def finish(pairs: Int): Unit = {
      dut.clockDomain.waitSamplingWhere(400000)(checked == pairs)
      dut.clockDomain.waitSamplingWhere(1000)(dut.io.idle.toBoolean)
      assert(expected.isEmpty && host.memory.reads.isEmpty && host.arrived.isEmpty)
      assert(host.reads >= pairs)
      assert(dut.io.statistics.backPressure.toLong == 0)
      assert(dut.io.statistics.timeouts.toLong == 0)
    }
  }

  def check(name: String, timeoutCycles: Int)(body: (Requester, Bench) => Unit): Unit =
    test(s"$name, seed ${Seed.value}") {
      compiled.doSim(name.filter(_.isLetterOrDigit), Seed.value) { dut =>
        dut.clockDomain.forkStimulus(10)
        body(dut, new Bench(dut, timeoutCycles))
      }
    }

  check("data that was written is read back, and interrupts come after it", 0) { (dut, bench) =>
    import bench.{host, random, senders}
    for (vector <- 0 until vectors) bench.program(vector, vector)
    bench.toAsk = 400
    // The second client writes a page that is full of the same number, and then raises an
    // interrupt, as for a ring. The last TLP of the page has not left the card by then, so the
    // interrupt must wait.
    for (i <- 1 to 100) {
      val vector = random.nextInt(vectors)
      val page   = IndexedSeq.fill(RequestModel.Page)(i.toLong)
      senders(1).queue += ClientRequest(true, ring, page.size, 0xf, 0xf, 0, 0, page)
      dut.clockDomain.waitSamplingWhere(20000)(senders(1).taken == i)
      bench.raise(vector)
      dut.clockDomain.waitSamplingWhere(20000)(host.arrived.nonEmpty)
      assert(host.arrived.dequeue() == vector)
      val data = host.memory.memory.slice(ring / 4, ring / 4 + page.size)
      assert(data.forall(_ == i), "the interrupt overtook its data")
    }
    bench.finish(400)
  }

  // RQ stalls at random, so that an interrupt message may wait at any place between the MSI-X table
  // and RQ's pins when its vector is masked.
  check("a message that was masked before RQ was shown it comes after the unmasking, once", 0) {
    (dut, bench) =>
      import bench.{host, random, senders}
      val control = 3
      // An interrupt message may still be offered on RQ up to `latest` cycles after its vector was
      // masked.
      val latest        = 2
      var before, after = 0

      /** Stops the messages of an interrupt vector in one of several ways: by its mask, the
        * function mask, MSI-X Enable, Bus Master Enable or `stop`. Returns a function that allows
        * them again.
        */
      def close(vector: Int): () => Unit = random.nextInt(8) match {
        case 0 =>
          dut.io.msixMask #= true
          () => dut.io.msixMask #= false
        case 1 =>
          dut.io.msixEnable #= false
          () => dut.io.msixEnable #= true
        case 2 =>
          dut.io.busMaster #= false
          () => dut.io.busMaster #= true
        case 3 =>
          dut.io.stop #= true
          () => dut.io.stop #= false
        case _ =>
          bench.set(vector, control, 1)
          () => bench.set(vector, control, 0)
      }

      for (round <- 1 to 400) {
        val vector = random.nextInt(vectors)
        bench.program(vector, 2 * round)
        for (_ <- 0 until random.nextInt(4)) {
          senders(1).queue += RequestModel
            .random(random, write = true, ring, RequestModel.anyDwords(random))
        }
        dut.clockDomain.waitSampling(1 + random.nextInt(30))
        host.blocks = random.nextInt(3) != 0
        dut.clockDomain.waitSampling(1 + random.nextInt(10))
        val raised = host.now
        bench.raise(vector)
        dut.clockDomain.waitSampling(1 + random.nextInt(40))

        val closed = host.now + 1
        val open   = close(vector)
        dut.clockDomain.waitSampling(latest + 1)
        bench.set(vector, 2, 2 * round + 1)
        val old  = host.shown > raised
        val hush = random.nextBoolean()
        if (hush) {
          host.blocks = false
          dut.clockDomain.waitSampling(300)
          assert(host.arrived.size == (if (old) 1 else 0))
          if (!old) assert(bench.pending == 1L << vector)
        } else dut.clockDomain.waitSampling(random.nextInt(20))
        assert(host.shown <= closed + latest, "RQ was shown a message that was masked")
        open()
        dut.clockDomain.waitSampling(random.nextInt(40))
        host.blocks = false
        dut.clockDomain.waitSamplingWhere(20000)(host.arrived.nonEmpty)
        dut.clockDomain.waitSampling(300)
        assert(host.arrived.toSeq == Seq(if (old) 2 * round else 2 * round + 1))
        host.arrived.clear()
        if (old) before += 1 else after += 1
        dut.clockDomain.waitSamplingWhere(20000)(senders(1).queue.isEmpty)
      }
      info(s"$before messages before the mask, $after after it")
      assert(before > 40 && after > 40)
      bench.finish(0)
  }

  check("a told client learns when its own writes have left, and not before", 0) { (dut, bench) =>
    import bench.{host, random, senders}
    val handed   = Array(0, 0) // Dwords of the writes that each client has handed over.
    val due      = Array(0, 0) // Dwords handed over by the latest pulse of `sent`.
    val age      = Array(0, 0) // Cycles since all dwords that were due have left.
    val rounds   = Array(0, 0) // Pulses of `sent` for which a write was due.
    val promptly = 100
    val least    = 40
    for ((sender, i) <- senders.zipWithIndex)
      sender.onTaken = request => if (request.write) handed(i) += request.dwords
    dut.clockDomain.onSamplings {
      for (i <- senders.indices) {
        val over = host.left(i) >= due(i)
        age(i) = if (over && !host.holds && !host.blocks) age(i) + 1 else 0
        assert(age(i) < promptly, s"client $i waits although its writes have left")
        if ((dut.io.sent.toInt & 1 << i) != 0) {
          assert(over, s"client $i: ${host.left(i)} dwords have left, ${due(i)} were due")
          if (handed(i) > due(i)) rounds(i) += 1
          due(i) = handed(i)
          age(i) = 0
        }
      }
    }
    bench.toAsk = Int.MaxValue
    for (_ <- 1 to 150) {
      for (_ <- 0 until random.nextInt(6)) {
        senders(1).queue += RequestModel
          .random(random, write = true, ring, RequestModel.anyDwords(random))
      }
      host.blocks = random.nextInt(4) == 0
      host.holds = random.nextInt(4) == 0
      dut.clockDomain.waitSampling(1 + random.nextInt(400))
    }
    info(s"${rounds.mkString(" and ")} rounds with writes")
    assert(rounds.forall(_ > least))
  }

  check("clear sets every counter to zero", 0) { (dut, bench) =>
    bench.host.holds = true
    bench.toAsk = 100
    dut.clockDomain.waitSamplingWhere(20000)(dut.io.counters.numberWaits.toLong > 0)
    bench.host.holds = false
    bench.finish(100)
    // Few reads are outstanding in this test, so none waits for a tag and `claimWaits` stays 0.
    Clearing.check(dut.io.counters, dut.io.clear, dut.clockDomain, rest = Set("claimWaits"))
  }

  check("clear also works in the cycle of an event", 0) { (dut, bench) =>
    val busy = Set("numberWaits")
    var now  = 0
    bench.toAsk = Int.MaxValue
    Clearing.underLoad(dut.io.counters, dut.io.clear, bench.random, busy) {
      now += 1
      // The host returns no sequence numbers for 500 cycles at a time. In that time the card uses
      // up all numbers that its writes may have.
      bench.host.holds = now / 500 % 2 == 1
      dut.clockDomain.waitSampling()
    }
  }

  check("no read times out while bus mastering is off", 4096) { (dut, bench) =>
    dut.io.maxReadRequest #= 0
    bench.toAsk = 200
    for (_ <- 1 to 6) {
      dut.clockDomain.waitSampling(200 + bench.random.nextInt(300))
      dut.io.busMaster #= false
      dut.clockDomain.waitSampling(6000)
      assert(bench.host.memory.reads.isEmpty && bench.toAsk > 0)
      dut.io.busMaster #= true
    }
    bench.finish(200)
  }

  test("the words of a build say of each client what it does, if it is fenced and if it is told") {
    val clients = RequesterParam(Seq("clients=r,w,rw,ru,rwus,ws")).clients
    assert(clients.map(_.reads) == Seq(true, false, true, true, true, false))
    assert(clients.map(_.writes) == Seq(false, true, true, false, true, true))
    assert(clients.map(_.fenced) == Seq(true, true, true, false, false, true))
    assert(clients.map(_.told) == Seq(false, false, false, false, true, true))
    val error = intercept[IllegalArgumentException](RequesterParam(Seq("clients=rw,wu")))
    assert(error.getMessage.contains("client wu: must be one of r, w, rw, ru, rwu, ws, rws, rwus"))
  }

  test("a Requester with one client, and with none that both reads and writes, can be built") {
    // No other suite writes to this folder: all suites of a virtual machine share "tmp".
    val folder = Paths.get(LaneboxSim.workspace, "built")
    for ((clients, n) <- Seq("rw", "r,w", "rwu").zipWithIndex) {
      val one  = RequesterParam(Seq(s"clients=$clients"))
      val into = Files.createDirectories(folder.resolve(n.toString))
      LaneboxConfig(targetDirectory = into.toString).generateVerilog(Requester(one))
    }
  }
}
