// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.queue

import java.util.SplittableRandom
import org.scalatest.funsuite.AnyFunSuite
import scala.language.reflectiveCalls
import spinal.core.sim._

import lanebox.vocabulary.{LaneboxSim, Seed}

/** Tests that a driver that allows interrupts, looks for used entries once more and then sleeps is
  * always woken if entries become used, whatever the latencies.
  *
  * The environment variable LANEBOX_WAKES has the number of wake-ups, of all races together.
  */
class InterruptRaceTest extends AnyFunSuite {
  import InterruptRaceTest._
  import RaceHost.{InterruptsPassNothing, NoRule, ReadsPassNothing, Rule}

  val Wakes = sys.env.getOrElse("LANEBOX_WAKES", "100000").toInt

  /** Races until the driver was woken `wakes` times, or with `breaks` until a wake-up was lost.
    * Returns the wake-ups and those that were lost.
    */
  private def race(packed: Boolean, events: Boolean, wakes: Int, breaks: Rule): (Int, Int) = {
    var woken, lost  = 0
    var cycles, sent = 0L
    (if (packed) packedRing else split).doSim(s"race_${packed}_${events}_$breaks", Seed.value) {
      dut =>
        val random         = new SplittableRandom(simRandom.nextLong())
        var host: RaceHost = null
        dut.io.live #= false
        dut.io.drive #= 0
        dut.clockDomain.forkStimulus(Period)
        dut.clockDomain.onSamplings {
          cycles += 1
          if (host != null) dut.io.drive #= host.cycle(dut.io.seen.toLong)
        }
        while (woken < wakes && (breaks == NoRule || lost == 0)) {
          host = null
          val queue = anyQueue(random, packed, events)
          begin(dut, queue)
          host = new RaceHost(random, queue, breaks)
          val driver = host.driver
          var before = -1
          while (driver.wakes + driver.lost < Round) {
            assert(
              driver.wakes + driver.lost > before,
              s"the driver neither sleeps nor wakes, $queue"
            )
            before = driver.wakes + driver.lost
            sleep(Look * Period)
          }
          woken += driver.wakes
          lost += driver.lost
          sent += host.interrupts
        }
    }
    println(s"$woken wake-ups, $lost lost, $sent interrupts, $cycles cycles")
    (woken, lost)
  }

  for (packed <- Seq(false, true); events <- Seq(false, true)) {
    val kind = s"${if (packed) "packed" else "split"} ring ${if (events) "with" else "without"} " +
      s"EVENT_IDX, seed ${Seed.value}"
    test(s"${Wakes / 4} times the driver is woken and never sleeps on, $kind") {
      val (woken, lost) = race(packed, events, Wakes / 4, NoRule)
      assert(woken >= Wakes / 4 && lost == 0, s"in $woken wake-ups")
    }
    // Without EVENT_IDX a read that passes a write seldom loses a wake-up.
    for (breaks <- InterruptsPassNothing +: (if (events) Seq(ReadsPassNothing) else Seq()))
      test(s"a host that breaks the rule $breaks lets the driver sleep on, $kind") {
        assert(race(packed, events, 20 * Round, breaks)._2 > 0)
      }
  }
}

object InterruptRaceTest {
  val Round  = 500  // Wake-ups until latencies, indices and size are chosen anew.
  val Period = 10
  val Look   = 5000 // Cycles in which a driver sleeps and is woken at least once.

  private lazy val split      = LaneboxSim(InterruptRace(packed = false))
  private lazy val packedRing = LaneboxSim(InterruptRace(packed = true))

  private def anyQueue(random: SplittableRandom, packed: Boolean, events: Boolean): RaceQueue = {
    val size  = 2 << random.nextInt(6)
    val start = if (random.nextBoolean()) 0xffff - random.nextInt(1000) else random.nextInt(0x10000)
    // Without PackedReader nothing finds out that a late notification has an old place.
    RaceQueue(packed, events, !packed && random.nextBoolean(), size, start)
  }

  /** Sets the device's queue up anew. */
  private def begin(dut: InterruptRace, queue: RaceQueue): Unit = {
    dut.clockDomain.assertReset()
    dut.io.live #= false
    dut.io.drive #= 0
    dut.io.size #= queue.size
    dut.io.start #= queue.start
    dut.io.eventIndex #= queue.events
    sleep(4 * Period)
    dut.clockDomain.deassertReset()
    sleep(4 * Period)
    for (index <- dut.indices) index #= queue.start & ((1 << index.getWidth) - 1)
    dut.io.live #= true
  }
}
