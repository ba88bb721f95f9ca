// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.queue

import spinal.core._
import spinal.lib._

/** QueueRunner (master) asks PackedReader whether the ring of `pair` has further descriptors.
  *
  * `look` stays high until `looked`. `failed`, valid with `looked`, says that the read has failed.
  * `next` is, for each pair, the index behind the last descriptor that was found. A pulse in
  * `retract` says that a notification told of descriptors behind `next` that are not available.
  */
case class Looks(pairs: Int) extends Bundle with IMasterSlave {
  val look, looked, failed = Bool()
  val next                 = Vec(UInt(16 bits), pairs)
  val retract              = Bits(pairs bits)

  override def asMaster(): Unit = {
    out(look)
    in(looked, failed, next, retract)
  }
}
