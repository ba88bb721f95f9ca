// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.queue

import scala.language.reflectiveCalls

import lanebox.capture.TestFrame
import lanebox.virtio.{ConsoleDriver, NetBench, NetDriver}
import lanebox.vocabulary.Seed

/** Tests that a queue that always has chains gives way to another queue of its direction, which has
  * chains left but is not notified again.
  */
class QueueRunnerTest extends NetBench {
  // More chains than a queue gets in one turn.
  val Chains = QueueRunner.ChainsInTurn + 6

  /** Keeps the console's queues full, so that they always have chains, and frames for them. */
  def refill(console: ConsoleDriver): Unit = {
    console.collect()
    while (console.transmit.room > 0) console.send(4, parts = 1)
    while (console.receive.room > 0) console.receive.add(console.buffers(1, 4))
    notify(console)
  }
  def notify(driver: ConsoleDriver): Unit =
    for ((queue, n) <- driver.queues.zipWithIndex) {
      queue.publish()
      driver.notify(n)
    }
  def small(driver: NetDriver): TestFrame = TestFrame.random(driver.random, 0, 100)

  test(s"no queue starves beside one that always has chains, seed ${Seed.value}") {
    run("turns") { (driver, far) =>
      val console = new ConsoleDriver(driver.dut, driver.random, all, 0, Some(driver))
      driver.host.steady = true
      driver.host.latency = 4
      far.stalls = 0
      driver.initialise(16)
      console.initialise(16)
      def go(rounds: Int)(done: => Boolean): Boolean = (0 until rounds).exists { _ =>
        refill(console)
        driver.collect()
        driver.step(20)
        done
      }
      for (_ <- 0 until 6) {
        go(50)(false)
        val (took, had) = (far.taken.size, driver.frames.size)
        for (_ <- 0 until Chains) {
          driver.sendFrame(small(driver).data, parts = 1)
          driver.offerFrame(100, parts = 1)
        }
        far.input ++= Seq.fill(Chains)(small(driver))
        notify(driver) // No other notification follows.
        def sent     = far.taken.size - took
        def received = driver.frames.size - had
        assert(
          go(400)(sent == Chains && received == Chains),
          s"$sent sent and $received received of $Chains"
        )
      }
    }
  }
}
