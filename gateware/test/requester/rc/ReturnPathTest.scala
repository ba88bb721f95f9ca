// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rc

import org.scalatest.funsuite.AnyFunSuite

import lanebox.vocabulary.Seed

/** Tests that through the return path (RC) each client gets its own data in the order of its reads,
  * in whatever order, pieces and gaps the host answers.
  */
class ReturnPathTest extends AnyFunSuite {
  val requests = 1500

  def runs(seed: Int): Seq[(String, ReturnRun)] = Seq(
    "straddle, RCB 64" -> ReturnRun(seed, HostTiming(latency = 50L + _.nextInt(600), gap = 0.1)),
    "straddle, RCB 128, MRRS 128" -> ReturnRun(
      seed + 1,
      HostTiming(rcb = 128, mps = 512, latency = 30L + _.nextInt(300)),
      mrrs = 128
    ),
    "straddle, pieces of RCB, short latency" -> ReturnRun(
      seed + 2,
      HostTiming(latency = 10L + _.nextInt(40), piece = Some(64)),
      mrrs = 256
    ),
    "straddle, 256 tags, MRRS 128, long latency" -> ReturnRun(
      seed + 5,
      HostTiming(latency = 500L + _.nextInt(500), piece = Some(64)),
      mrrs = 128,
      tags = 256
    ),
    "headers and data from one pool, small reads" -> ReturnRun(
      seed + 6,
      HostTiming(latency = 900L + _.nextInt(100)),
      mrrs = 128,
      tags = 256,
      pooled = true
    ),
    "headers and data from one pool" -> ReturnRun(
      seed + 7,
      HostTiming(latency = 900L + _.nextInt(100)),
      tags = 256,
      pooled = true
    ),
    "straddle, MRRS 4 KiB, 32 tags" -> ReturnRun(
      seed + 3,
      HostTiming(latency = 300L + _.nextInt(900), gap = 0.5),
      extendedTags = false,
      mrrs = 4096
    ),
    "no straddle, RCB 64" -> ReturnRun(
      seed + 4,
      HostTiming(latency = 100L + _.nextInt(500), mps = 128),
      straddle = false
    )
  )

  /** Changes at random how often a client takes data from the return path. Sometimes it takes none
    * for a while.
    */
  def moody(bench: ReturnBench): Unit =
    for (client <- bench.clients.takes.indices if bench.random.nextInt(200) == 0)
      bench.clients.takes(client) = Seq(0.0, 0.3, 1.0, 1.0)(bench.random.nextInt(4))

  for ((name, run) <- runs(100 * Seed.value))
    test(s"every byte in order: $name, seed ${run.seed}")(ReturnBench("random", run) { bench =>
      bench.clients.request = _ =>
        bench.anyRequest(Seq(1, 16, 128, 200, 1024)(bench.random.nextInt(5)))
      bench.until("random reads") {
        moody(bench)
        bench.clients.requests.sum >= requests
      }
      bench.finish()
      assert(
        bench.clients.tags.max < (if (run.extendedTags) run.tags else 32),
        "a tag out of range"
      )
      assert(bench.clients.failedBeats == 0)
      if (run.pooled) assert(bench.host.mostUnits > 2000, s"${bench.host.mostUnits} of 2048 units")
    })

  test(s"after a reset no read from before it is left, seed ${Seed.value}") {
    val run = ReturnRun(Seed.value, HostTiming(latency = 20L + _.nextInt(200)), mrrs = 256)
    ReturnBench("reset", run) { bench =>
      for (_ <- 0 until 30) {
        bench.host.faults = new RandomFaults(bench.random, 0.5)
        bench.clients.request = _ => bench.anyRequest(300)
        bench.cycles(100 + bench.random.nextInt(1000))
        bench.reset()
      }
      bench.clients.request = _ => bench.anyRequest(300)
      bench.cycles(1000)
      bench.finish()
      assert(bench.clients.failedBeats == 0)
    }
  }

  test(s"one client, five clients, seed ${Seed.value}") {
    for (clients <- Seq(1, 5))
      ReturnBench("clients", ReturnRun(Seed.value), clients) { bench =>
        bench.clients.request = _ => bench.anyRequest(300)
        bench.until("random reads")(bench.clients.requests.sum >= 300)
        bench.finish()
      }
  }
}
