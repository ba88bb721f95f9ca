// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rq

import org.scalatest.funsuite.AnyFunSuite
import scala.language.reflectiveCalls
import spinal.core.sim._

import lanebox.vocabulary.{LaneboxSim, Seed}

/** RequestPath turns the requests of several clients into TLPs as PG213 and the PCIe base
  * specification demand. RequestFramer has no suite of its own: it is tested here.
  */
class RequestPathTest extends AnyFunSuite {
  // Numbers of the clients: `dma` reads and writes, `c2h` only writes, `h2c` only reads.
  val dma = 0
  val c2h = 1
  val h2c = 2
  val param = RequestParam(
    Seq(
      ClientConfig("dma", reads = true, writes = true),
      ClientConfig("c2h", reads = false, writes = true),
      ClientConfig("h2c", reads = true, writes = false)
    )
  )
  lazy val compiled = LaneboxSim(FencedRequests(param))

  def run(name: String, mps: Int = 256, mrrs: Int = 512)(
      body: (FencedRequests, RequestBench) => Unit
  ): Unit =
    compiled.doSim(name, Seed.value) { dut =>
      dut.clockDomain.forkStimulus(10)
      val bench = new RequestBench(dut, mps, mrrs)
      dut.clockDomain.waitSampling(4)
      body(dut, bench)
    }

  def check(name: String)(body: String => Unit): Unit =
    test(s"$name, seed ${Seed.value}")(body(name.filter(_.isLetterOrDigit)))

  // Each round of a test has a random RequestMood, so that clients, hard block and return path
  // stall in another way.
  for (mps <- Seq(128, 256, 512); mrrs <- Seq(128, 512, 4096))
    check(s"any request, MPS $mps, MRRS $mrrs") { name =>
      run(name, mps, mrrs min 512) { (dut, bench) =>
        import bench.random
        if (mrrs > 512) dut.io.settings.maxReadRequest #= 5
        for (_ <- 0 until 4) {
          bench.mood = RequestMood(
            rqReady = 30 + random.nextInt(71),
            claimReady = 20 + random.nextInt(81),
            returns = 20 + random.nextInt(81),
            lost = random.nextInt(10),
            gaps = random.nextInt(80),
            answerDelay = 1 + random.nextInt(200),
            tags = 1 + random.nextInt(64)
          )
          for (_ <- 0 until 150; client <- param.clients.indices) bench.askAny(client)
          bench.finish()
        }
        assert(bench.mostUnconfirmed <= 31)
      }
    }

  /** Lets a client make `count` requests of one kind and size. `offset` gives each request's offset
    * in a random page, in bytes.
    */
  def askMany(bench: RequestBench, client: Int, write: Boolean, dwords: Int, count: Int)(
      offset: Int => Int
  ): Unit = for (i <- 0 until count) {
    val address = bench.page(client) + offset(i)
    bench.ask(RequestModel.random(bench.random, write, address, dwords))
  }

  def beatsOf(tlp: RequestTlp): Int = (4 + tlp.data.size + 7) / 8

  /** Checks that RQ has taken a beat in every cycle since the eleventh TLP. */
  def checkNoBubble(bench: RequestBench): Unit = {
    val from  = 10
    val beats = bench.tlps.drop(from + 1).map(beatsOf).sum
    assert(bench.tlps.size > 2 * from)
    assert(bench.ends.last - bench.ends(from) == beats, s"for $beats beats")
  }

  for ((mps, beats) <- Seq(128 -> 5, 256 -> 9, 512 -> 17))
    check(s"writes of MPS $mps take $beats cycles each") { name =>
      run(name, mps) { (_, bench) =>
        askMany(bench, c2h, write = true, mps / 4, 100)(i => mps * i % 4096)
        bench.finish()
        assert(bench.tlps.size == 100)
        assert(bench.ends.last - bench.ends(10) == 89 * beats)
      }
    }

  check("writes and reads of one dword take a cycle each") { name =>
    for (write <- Seq(true, false))
      run(s"$name$write") { (_, bench) =>
        bench.mood = RequestMood(answerDelay = 1)
        askMany(bench, dma, write, 1, 500)(i => 4 * i)
        bench.finish()
        assert(bench.ends.last - bench.ends(10) == 489)
      }
  }

  check("neither requests that cross 4 KiB anywhere nor many clients leave a bubble") { name =>
    for (mps <- Seq(128, 256, 512))
      run(s"$name$mps", mps) { (_, bench) =>
        askMany(bench, c2h, write = true, 1024, 64)(i => 4 * i)
        bench.finish()
        checkNoBubble(bench)
        bench.tlps.clear()
        bench.ends.clear()
        askMany(bench, c2h, write = true, mps / 4, 200)(_ => 4 * bench.random.nextInt(1024))
        askMany(bench, dma, write = true, 1024, 20)(_ => 4 * bench.random.nextInt(1024))
        askMany(bench, h2c, write = false, 1, 200)(_ => 0)
        bench.finish()
        checkNoBubble(bench)
      }
  }

  check("clients with something to send take turns, whatever the rhythm of RQ") { name =>
    for (rqReady <- Seq(100, 50); dwords <- Seq(1, 12, 64))
      run(s"$name$rqReady$dwords") { (_, bench) =>
        bench.mood = RequestMood(rqReady, answerDelay = 1)
        for ((client, write) <- Seq(dma -> true, c2h -> true, h2c -> false))
          askMany(bench, client, write, dwords, 200)(_ => 0)
        bench.finish()
        val (reads, writes) = bench.tlps.slice(20, 500).partition(!_.write)
        val owners          = writes.map(tlp => (tlp.address >> 28) & 15)
        assert(owners.sliding(2).forall(_.distinct.size == 2), "writes of the two clients")
        assert(reads.size >= writes.size / 2 - 1)
      }
  }

  check("reads have as many beats of RQ as writes, where both want more") { name =>
    for (rqReady <- Seq(100, 50); dwords <- Seq(1, 12, 64, 128))
      run(s"$name$rqReady$dwords", mps = 512) { (_, bench) =>
        bench.mood = RequestMood(rqReady, answerDelay = 1)
        askMany(bench, c2h, write = true, dwords, 300)(_ => 0)
        askMany(bench, h2c, write = false, 4, 6000)(_ => 0)
        while (bench.sentWrites(c2h) < 300) sleep(10)
        val seen            = bench.tlps.slice(100, bench.tlps.lastIndexWhere(_.write) + 1)
        val (reads, writes) = seen.partition(!_.write)
        val share           = reads.size.toDouble / writes.map(beatsOf).sum
        assert(share > 0.95 && share < 1.05, s"$dwords dwords: $share beats of reads for each")
        val most = 2 * beatsOf(writes.head) max 2
        assert(!seen.sliding(most + 1).exists(_.forall(!_.write)), "a write waited for long")
        bench.tlps.clear()
        bench.finish()
      }
  }

  check("a write that comes after reads alone does not wait for their beats") { name =>
    run(name) { (dut, bench) =>
      bench.mood = RequestMood(answerDelay = 1)
      askMany(bench, h2c, write = false, 4, 8000)(_ => 0)
      for (round <- 1 to 50) {
        dut.clockDomain.waitSampling(50 + bench.random.nextInt(50))
        val asked = bench.now
        askMany(bench, c2h, write = true, 1, 1)(_ => 0)
        while (bench.sentWrites(c2h) < round) dut.clockDomain.waitSampling()
        assert(bench.waiting(h2c) > 0 && bench.now - asked <= 24, s"${bench.now - asked} cycles")
      }
      bench.finish()
    }
  }

  check("however long writes were alone, reads hold up the next for two writes' beats at most") {
    name =>
      run(name, mps = 512) { (dut, bench) =>
        val most =
          // The limit for beats of reads in a row is twice that of a write of 512 B: once for the
          // write that waits, and once for another one that came when a write was due.
          2 * 17
        bench.mood = RequestMood(answerDelay = 1)
        for (alone <- 1 to 12) {
          val before = bench.sentWrites(c2h)
          askMany(bench, c2h, write = true, 128, alone + 12)(_ => 0)
          while (bench.sentWrites(c2h) < before + alone) dut.clockDomain.waitSampling()
          bench.tlps.clear()
          askMany(bench, h2c, write = false, 4, 600)(_ => 0)
          while (bench.sentWrites(c2h) < before + alone + 12) dut.clockDomain.waitSampling()
          val seen = bench.tlps.take(bench.tlps.lastIndexWhere(_.write) + 1)
          assert(!seen.sliding(most + 1).exists(_.forall(!_.write)), s"after $alone writes")
          bench.finish()
        }
      }
  }

  check("a read that waits for its claim holds up no other client's writes") { name =>
    run(name) { (_, bench) =>
      bench.mood = RequestMood(claimReady = 0)
      for (client <- Seq(dma, h2c)) askMany(bench, client, write = false, 64, 50)(_ => 0)
      askMany(bench, c2h, write = true, 64, 100)(_ => 0)
      while (bench.sentWrites(c2h) < 100) sleep(100)
      assert(bench.tlps.forall(_.write))
      assert(bench.ends.last - bench.ends(10) == 89 * 9)
      bench.mood = RequestMood()
      bench.finish()
    }
  }

  check("a client without room claims nothing, and holds up no other's reads") { name =>
    run(name) { (dut, bench) =>
      // The ring of client `dma` in the landing memory is full.
      dut.io.room(0) #= false
      dut.clockDomain.waitSampling()
      for (client <- Seq(dma, h2c)) askMany(bench, client, write = false, 128, 50)(_ => 0)
      dut.clockDomain.waitSampling(1000)
      assert(bench.tlps.size == 50 && bench.enteredReads(h2c) == 50)
      dut.io.room(0) #= true
      bench.finish()
    }
  }

  check("no TLP is issued while bus mastering is off") { name =>
    run(name) { (dut, bench) =>
      dut.io.settings.busMaster #= false
      dut.clockDomain.waitSampling(10)
      for (_ <- 0 until 20; client <- param.clients.indices) bench.askAny(client)
      dut.clockDomain.waitSampling(500)
      assert(bench.beats == 0 && !dut.io.claim.valid.toBoolean)
      dut.io.settings.busMaster #= true
      bench.finish()
    }
  }

  check("after bus mastering is switched off, only reads that have a tag go out") { name =>
    run(name) { (dut, bench) =>
      for (_ <- 0 until 40) {
        bench.mood = RequestMood(
          rqReady = 30 + bench.random.nextInt(71),
          claimReady = 1 + bench.random.nextInt(100),
          answerDelay = 1
        )
        for (_ <- 0 until 10; client <- param.clients.indices) bench.askAny(client)
        dut.clockDomain.waitSampling(1 + bench.random.nextInt(300))
        dut.io.settings.busMaster #= false
        dut.clockDomain.waitSampling(3)
        val before = bench.tlps.size
        dut.clockDomain.waitSampling(200)
        assert(bench.unissued == 0, "a read has a tag, but is not on RQ")
        assert(bench.tlps.size <= before + 8, "TLPs were begun without bus mastering")
        val still = bench.beats
        for (_ <- 0 until 50) {
          dut.clockDomain.waitSampling()
          assert(!dut.io.claim.valid.toBoolean && bench.beats == still && dut.io.idle.toBoolean)
        }
        dut.io.settings.busMaster #= true
      }
      bench.mood = RequestMood()
      bench.finish()
    }
  }

  check("after stop the last TLP goes, idle rises, and no TLP begins until stop falls") { name =>
    run(name) { (dut, bench) =>
      for (_ <- 0 until 30) {
        bench.mood = RequestMood(rqReady = 30 + bench.random.nextInt(71), claimReady = 50)
        for (_ <- 0 until 10; client <- param.clients.indices) bench.askAny(client)
        dut.clockDomain.waitSampling(1 + bench.random.nextInt(300))
        dut.io.stop #= true
        dut.clockDomain.waitSampling(3)
        val before = bench.tlps.size
        dut.clockDomain.waitSamplingWhere(400)(dut.io.idle.toBoolean)
        assert(bench.tlps.size <= before + 8, "TLPs were begun after stop")
        // If RequestPath has taken some beats of a write before `stop`, it may take the rest of the
        // write in these cycles.
        dut.clockDomain.waitSampling(140)
        def seen  = (bench.beats, bench.enteredReads.sum, bench.enteredWrites.sum)
        val still = seen
        dut.clockDomain.waitSampling(100)
        assert(seen == still && dut.io.idle.toBoolean)
        dut.io.stop #= false
        dut.clockDomain.waitSampling()
      }
      bench.finish()
    }
  }

  check("at most 31 writes are in the hard block, and reads do not wait for them") { name =>
    run(name) { (dut, bench) =>
      bench.mood = RequestMood(returns = 0)
      askMany(bench, c2h, write = true, 1, 100)(_ => 0)
      askMany(bench, h2c, write = false, 1, 100)(_ => 0)
      dut.clockDomain.waitSampling(1000)
      assert(Set(30, 31)(bench.tlps.count(_.write)) && bench.tlps.count(!_.write) == 100)
      bench.mood = RequestMood()
      bench.finish()
    }
  }
}
