// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.vocabulary

import org.scalatest.funsuite.AnyFunSuite

import lanebox.vocabulary.HardBlock

/** Tests that VirtioParam refuses a device that the hardware could not serve, and that the error
  * names the value.
  */
class VirtioParamTest extends AnyFunSuite {
  val net  = VirtioParam.net
  val hole = net.features & ~(BigInt(1) << VirtioParam.Version1)

  for (
    (what, wrong, said) <- Seq[(String, () => VirtioParam, String)](
      ("no pair of queues", () => net.copy(pairs = 0), "0 pairs"),
      ("more pairs than four", () => net.copy(pairs = 5), "5 pairs"),
      ("two pairs without a control queue", () => net.copy(control = false), "2 pairs"),
      ("a queue of no power of two", () => net.copy(queueSize = 24), "a queue of 24 entries"),
      ("a queue of one entry", () => net.copy(queueSize = 1), "a queue of 1 entries"),
      ("a queue beyond a split ring", () => net.copy(queueSize = 65536), "a queue of 65536"),
      ("a store of no power of two", () => net.copy(rows = 500), "500 rows"),
      ("a store below the reads in flight", () => net.copy(rows = 64), "64 rows"),
      (
        "a required feature that is not offered",
        () => net.copy(features = hole),
        "must be offered"
      ),
      ("a patience below 16 cycles", () => net.copy(patience = 15), "a patience of 15 cycles"),
      ("merged chains without frames", () => net.copy(frames = false), "merged buffers"),
      (
        "a frame that fills the store",
        () => net.copy(rows = 128, largest = 3000),
        "hold no such frame"
      )
    )
  ) test(s"refused: $what") {
    val message = intercept[IllegalArgumentException](wrong()).getMessage
    assert(message.contains(said))
  }

  test("a frame that just fits the store with all reads in flight is accepted") {
    val console = VirtioParam.console
    val most    = (console.rows - VirtioParam.FlightRows) * HardBlock.BeatBytes
    assert(console.copy(largest = most).largestRows + VirtioParam.FlightRows == console.rows)
    intercept[IllegalArgumentException](console.copy(largest = most + 1))
  }
}
