// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import scala.language.reflectiveCalls

import lanebox.capture.TestFrame
import lanebox.virtio.vocabulary.{Violation, VirtioParam}
import lanebox.vocabulary.Seed

/** Tests that the frames of a net driver with packed rings arrive, in both directions. With
  * MRG_RXBUF a driver sees all chains of a frame or none, whenever it looks.
  */
class PackedNetTest extends NetBench {
  import VirtioParam._

  override def compiled = PackedBench.compiled

  for (
    bits <- Seq(
      Seq(),
      Seq(NotificationData),
      Seq(EventIndex, Indirect, NotificationData),
      Seq(NetMerge),
      Seq(EventIndex, NetMerge, NotificationData),
      Seq(EventIndex, Indirect, NetMerge, NotificationData)
    );
    looks <- Seq(false, true)
  ) {
    val name = s"features ${bits.mkString(" ")}${if (looks) ", the driver looks often" else ""}"
    test(s"frames arrive, $name, seed ${Seed.value}") {
      run(s"net${bits.mkString("_")}$looks", features(Packed +: bits: _*)) { (driver, far) =>
        driver.host.latency = 1 + driver.random.nextInt(100)
        if (looks) driver.host.watch = () => driver.collect()
        driver.initialise(16)
        traffic(driver, far, 40)
        if (bits.contains(NetMerge))
          assert(driver.counts.exists(_ > 2), "no frame of more than two chains")
      }
    }
  }

  test(s"a frame that has all descriptors is not offered one of them again, seed ${Seed.value}") {
    run("again", features(Packed, EventIndex, NetMerge, NotificationData)) { (driver, far) =>
      driver.initialise(16)
      while (driver.receive.room > 0) driver.offerBytes(60)
      driver.publish(0)
      far.input += TestFrame(0, 0, 1400, IndexedSeq.fill(1400)(1.toByte))
      driver.step(2000)
      assert(!driver.receive.unseen && (driver.read(VirtioRegisters.Status) & 0x40) == 0)
      val place = driver.memory.make(60, 1)
      driver.receive.asInstanceOf[PackedQueue].put((place, 60), PackedQueue.Write, 1)
      driver.memory.grant(place, 60, 3)
      driver.receive.publish()
      driver.notify(0)
      driver.until("NEEDS_RESET")((driver.read(VirtioRegisters.Status) & 0x40) != 0)
      assert(driver.read(VirtioRegisters.Reason) == Violation.index.position)
    }
  }

  test(s"a packed net device runs beside a split console, seed ${Seed.value}") {
    run("beside", features(Packed, EventIndex, NotificationData)) { (driver, far) =>
      val console = new ConsoleDriver(driver.dut, driver.random, all, 0, Some(driver))
      driver.initialise(16)
      console.initialise(16)
      for (_ <- 0 until 8) {
        while (console.receive.room >= 4) console.offer(100)
        while (console.transmit.room >= 4) console.send(30)
        console.publish(0)
        console.publish(1)
        traffic(driver, far, 4)
        console.collect()
      }
      driver.until("the console's bytes") {
        console.collect()
        while (console.receive.room >= 4) console.offer(100)
        console.publish(0)
        console.received.size == console.sent.size
      }
      assert(console.received == console.sent)
    }
  }
}
