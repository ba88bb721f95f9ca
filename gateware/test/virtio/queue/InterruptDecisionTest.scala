// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.queue

import scala.language.reflectiveCalls

import lanebox.virtio.vocabulary.VirtioParam
import lanebox.virtio.{ConsoleBench, ConsoleDriver}
import lanebox.vocabulary.Seed

/** Tests when the driver is interrupted for used chains, and how often. */
class InterruptDecisionTest extends ConsoleBench {
  import VirtioParam.EventIndex

  private def each(what: String, name: String)(body: ConsoleDriver => Unit): Unit =
    for (bits <- Seq(Seq(), Seq(EventIndex)))
      test(s"$what, features ${bits.mkString(" ")}, seed ${Seed.value}") {
        run(s"$name${bits.mkString("_")}", features(bits: _*)) { driver =>
          driver.initialise(16)
          driver.step(500)
          driver.interrupts(1)
          body(driver)
        }
      }

  /** Sends one chain and takes it back. Returns the interrupts that came. */
  private def sendOne(driver: ConsoleDriver): Int = {
    driver.send(40, parts = 1)
    driver.publish(1)
    driver.until("the used index")(driver.transmit.unseen)
    driver.step(500)
    driver.collect()
    driver.interrupts(1)
  }

  each("a driver that wants every interrupt gets one for each chain", "each") { driver =>
    for (n <- 1 to 12) {
      driver.transmit.wantInterrupt(0)
      assert(sendOne(driver) == 1, s"for chain $n")
    }
  }

  each("a queue that always has chains leaves none that was used untold for long", "patience") {
    driver =>
      driver.host.steady = true
      driver.host.latency = 4
      var untold, most = 0 // Cycles since a chain was used for which no interrupt has come.
      for (_ <- 0 until 400) {
        while (driver.transmit.room > 0) driver.send(4, parts = 1)
        driver.transmit.publish()
        driver.notify(1)
        driver.step(8)
        val used = driver.transmit.unseen
        driver.collect()
        untold = if (used || untold > 0) untold + 10 else 0
        // The driver wants the next interrupt only when it has got one. If it wanted one for what
        // comes behind the chains it has seen by polling, it would rightly get none for those.
        if (driver.interrupts(1) > 0) {
          untold = 0
          driver.transmit.wantInterrupt(0)
        }
        most = most max untold
      }
      assert(most > param.patience / 2, s"$most cycles: the queue had no chains for a time")
      assert(most < param.patience + 150, s"$most cycles")
  }

  each("a queue that is set up anew knows nothing of what its driver wanted before", "anew") {
    driver =>
      driver.transmit.wantInterrupt(0)
      assert(sendOne(driver) == 1)
      driver.renew(1)
      driver.transmit.wantInterrupt(9)
      driver.transmit.forbidInterrupts(true)
      driver.interrupts(1)
      assert(sendOne(driver) == 0)
  }
}
