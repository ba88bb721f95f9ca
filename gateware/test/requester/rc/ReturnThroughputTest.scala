// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rc

import org.scalatest.funsuite.AnyFunSuite

import lanebox.vocabulary.Seed

/** Tests that at the highest rate of the RC interface the return path loses no cycle, and that its
  * `ready` never falls.
  */
class ReturnThroughputTest extends AnyFunSuite {
  val completions = 1500
  // Completions that pass before the measurement begins. After them every tag is in use.
  val settle = 200

  /** Measures the cycles that completions of `bytes` bytes take. Each also has a descriptor of
    * three dwords. With straddle a completion takes up half beats, otherwise whole beats.
    */
  def measure(run: ReturnRun, bytes: Int, requestBytes: Int, clients: Int = 2): Unit =
    ReturnBench("throughput", run, clients) { bench =>
      bench.clients.request = _ => bench.aligned(requestBytes)
      bench.until("warming up")(bench.host.shown >= settle)
      val shown = bench.host.shown
      val start = bench.now
      bench.until("completions")(bench.host.shown >= shown + completions)
      val cycles  = bench.now - start
      val dwords  = bytes / 4 + RcDescriptor.Dwords
      val perBeat = if (run.straddle) 4 else 8
      val needed  = completions * ((dwords + perBeat - 1) / perBeat) * perBeat / 8
      info(f"$bytes B: ${cycles.toDouble / completions}%.3f beats per completion")
      assert(cycles <= needed + 2, s"$completions of $bytes B took $cycles cycles, not $needed")
      bench.finish()
      assert(bench.pins.backPressure == 0, "tready was low")
    }

  val timing = HostTiming(latency = _ => 60, mps = 512, inOrder = true)
  for (bytes <- Seq(64, 128, 256, 512); straddle <- Seq(true, false))
    test(s"$bytes B completions, straddle $straddle, seed ${Seed.value}")(measure(
      ReturnRun(Seed.value, timing.copy(piece = Some(bytes)), straddle),
      bytes,
      512
    ))

  test(s"64 B completions out of order, interleaved, seed ${Seed.value}")(measure(
    ReturnRun(
      Seed.value,
      timing.copy(piece = Some(64), latency = 100L + _.nextInt(100), inOrder = false)
    ),
    bytes = 64,
    requestBytes = 512
  ))

  /** A kind of traffic: which requests the clients make, and how the host answers. */
  case class Mix(name: String, latency: Int, piece: Option[Int] = Some(64))(
      val request: ReturnBench => Option[TestRequest]
  )

  private def strided(bench: ReturnBench, bytes: Int): Option[TestRequest] = {
    val at = bench.random.nextInt(ReturnHost.Dwords * 4 / bytes) * bytes
    Some(TestRequest(at, bytes / 4, 15, 15, 0))
  }

  /** Makes a read of two dwords across a boundary of 64 bytes. The host answers it with two
    * completions of one dword each.
    */
  private def split(bench: ReturnBench): Option[TestRequest] =
    Some(TestRequest((1 + bench.random.nextInt(ReturnHost.Dwords / 16 - 1)) * 64 - 4, 2, 15, 15, 0))

  /** Makes a read of 8 n + 1 dwords, so that only one dword is in its last beat. */
  private def uneven(bench: ReturnBench): Option[TestRequest] = {
    val dwords = 8 * (1 + bench.random.nextInt(15)) + 1
    Some(TestRequest(bench.random.nextInt(ReturnHost.Dwords / 128) * 512, dwords, 15, 15, 0))
  }

  val mixes = Seq(
    Mix("256 B", latency = 60, piece = Some(256))(strided(_, 256)),
    Mix("96 B", latency = 60)(strided(_, 96)),
    Mix("4 KiB with jitter", latency = 450, piece = Some(256))(strided(_, 4096)),
    Mix("any size", latency = 300, piece = None)(_.anyRequest(160)),
    Mix("a few bytes", latency = 100)(_.anyRequest(8)),
    Mix("two dwords apart", latency = 30)(split),
    Mix("8n + 1 dwords", latency = 200, piece = Some(512))(uneven)
  )

  /** In the tests of `mixes` RC has a beat in every cycle, which is faster than any PCIe link for
    * this interface.
    */
  for (mix <- mixes; straddle <- Seq(true, false))
    test(s"${mix.name} at the pins' own rate never hold RC up, straddle $straddle, " +
      s"seed ${Seed.value}") {
      val timing = HostTiming(latency = 30L + _.nextInt(mix.latency), piece = mix.piece, mps = 512)
      ReturnBench("own rate", ReturnRun(Seed.value, timing, straddle)) { bench =>
        bench.clients.request = _ => mix.request(bench)
        bench.until("completions")(bench.host.shown >= 8000)
        bench.finish()
        info(f"${bench.pins.beats.toDouble / bench.now}%.3f beats per cycle")
        assert(bench.pins.backPressure == 0, s"tready was low for ${bench.pins.backPressure}")
      }
    }

  val link = timing.copy(link = Some(ReturnHost.Gen3x8))

  /** The first and the last completion of an unaligned read have odd sizes. Some of them take one
    * cycle more inside the card than at the RC pins.
    */
  test(s"unaligned reads never hold RC up at the link's rate, seed ${Seed.value}") {
    val run = ReturnRun(Seed.value, link.copy(piece = Some(256), latency = 100L + _.nextInt(50)))
    ReturnBench("unaligned", run) { bench =>
      bench.clients.request = _ => {
        val at = bench.random.nextInt(ReturnHost.Dwords - 128) * 4
        Some(TestRequest(at, 128, 15, 15, 0))
      }
      bench.until("reads")(bench.host.shown >= 4000)
      bench.finish()
      assert(bench.pins.backPressure == 0, "tready was low")
      info(f"${bench.pins.beats.toDouble / bench.now}%.3f beats per cycle")
    }
  }

  test(s"reads of a few bytes never hold RC up at the link's rate, seed ${Seed.value}") {
    val run = ReturnRun(Seed.value, link.copy(latency = 100L + _.nextInt(100), inOrder = false))
    ReturnBench("small", run) { bench =>
      bench.clients.request = _ => bench.anyRequest(8)
      bench.until("reads")(bench.host.shown >= 4000)
      bench.finish()
      info(f"${bench.host.shown.toDouble / bench.now}%.3f completions per cycle")
      assert(bench.pins.backPressure == 0, "tready was low")
    }
  }

  test(s"small reads: a claim per cycle, seed ${Seed.value}") {
    ReturnBench("claims", ReturnRun(Seed.value, timing.copy(latency = _ => 1000))) { bench =>
      bench.clients.request = _ => bench.aligned(64)
      bench.until("the first claim")(bench.clients.claimed == 1)
      bench.cycles(63)
      assert(bench.clients.claimed == 64, s"${bench.clients.claimed} claims in 64 cycles")
      bench.finish()
    }
  }

  test(s"512 B slots are delivered without a gap, seed ${Seed.value}") {
    ReturnBench("delivery", ReturnRun(Seed.value, timing)) { bench =>
      bench.clients.takes(0) = 0
      bench.clients.request = client => if (client == 0) bench.aligned(4096) else None
      bench.cycles(4000) // In these cycles all outstanding data comes.
      bench.clients.request = _ => None
      bench.clients.takes(0) = 1
      bench.until("the first beat")(bench.clients.beats(0) >= 40)
      val before = bench.clients.beats(0)
      bench.cycles(1000)
      assert(bench.clients.beats(0) == before + 1000, s"${bench.clients.beats(0) - before} beats")
      bench.finish()
    }
  }

  test(s"two clients share delivery, seed ${Seed.value}") {
    ReturnBench("sharing", ReturnRun(Seed.value, timing)) { bench =>
      for (client <- 0 to 1) bench.clients.takes(client) = 0
      bench.clients.request = _ => bench.aligned(512)
      bench.cycles(4000)
      for (client <- 0 to 1) bench.clients.takes(client) = 1
      bench.cycles(100)
      val before = bench.clients.beats.clone
      bench.cycles(400)
      val got = bench.clients.beats.zip(before).map { case (later, earlier) => later - earlier }
      assert(got.sum >= 399 && (got(0) - got(1)).abs <= 2, s"beats of each: ${got.mkString(" ")}")
      bench.finish()
    }
  }

  test(s"a client that never takes its data stops no other client, seed ${Seed.value}") {
    ReturnBench("starvation", ReturnRun(Seed.value, link.copy(latency = 100L + _.nextInt(300)))) {
      bench =>
        bench.clients.takes(0) = 0
        bench.clients.request = _ => bench.anyRequest(1024)
        bench.cycles(5000)
        val before = bench.clients.beats(1)
        bench.until("the other client")(bench.clients.beats(1) >= before + 20000)
        assert(bench.clients.beats(0) == 0)
        assert(bench.pins.backPressure == 0, "tready was low")
        bench.finish()
    }
  }
}
