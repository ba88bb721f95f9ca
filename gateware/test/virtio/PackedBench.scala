// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import scala.language.reflectiveCalls
import spinal.core.sim._

import lanebox.virtio.vocabulary.VirtioParam
import lanebox.vocabulary.LaneboxSim

/** Base of the test suites of packed rings: both devices of a card, with small queues, which a
  * driver may have in either format.
  */
abstract class PackedBench extends ConsoleBench {
  override val param    = PackedBench.devices.head
  override def compiled = PackedBench.compiled
  override val all = features(
    VirtioParam.Packed,
    VirtioParam.EventIndex,
    VirtioParam.Indirect,
    VirtioParam.NotificationData
  )

  def ring(driver: ConsoleDriver, n: Int): PackedQueue =
    driver.queues(n).asInstanceOf[PackedQueue]

  /** Offers a chain for each descriptor of the receive queue that the driver has. */
  def offerAll(driver: ConsoleDriver): Unit = {
    while (driver.receive.room > 0) driver.receive.add(Seq((driver.memory.make(256, 64), 256)))
    driver.publish(0)
  }
}

object PackedBench {
  val devices =
    NetBench.small(VirtioDevices.all(pairs = 1)).map(_.copy(patience = 200).withPacked(true))

  /** The simulation of both devices, which suites in one Java virtual machine share. */
  lazy val compiled = LaneboxSim {
    val dut = VirtioDevices(devices)
    ConsoleBench.indices(dut).foreach(_.simPublic())
    dut
  }
}
