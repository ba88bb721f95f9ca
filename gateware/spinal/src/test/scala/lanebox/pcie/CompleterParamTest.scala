// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import org.scalatest.funsuite.AnyFunSuite
import scala.util.Random

import lanebox.Seed

/** A window is exactly the range that was asked for, or elaboration fails and gives the reason. */
class CompleterParamTest extends AnyFunSuite {
  test(s"the aligned blocks of a window are the window, no more and no less, seed ${Seed.value}") {
    val random = new Random(Seed.value)
    for (_ <- 0 until 2000) {
      val base   = random.nextInt(1 << 20) * BigInt(4096)
      val most   = (BigInt(1) << 32) - base
      val size   = ((1 + random.nextInt(1 << random.nextInt(20))) * BigInt(4096)) min most
      val blocks = TargetWindow(0, base, size, 0).blocks
      assert(blocks.map(_._2).sum == size && blocks.head._1 == base)
      for (((a, n), (b, _)) <- blocks.zip(blocks.drop(1))) assert(a + n == b)
      for ((a, n) <- blocks) assert(n.bitCount == 1 && a % n == 0, s"$a + $n is not aligned")
    }
    assert(TargetWindow(0, 0, BigInt(1) << 32, 0).blocks == Seq((0, BigInt(1) << 32)))
  }

  test("words on the command line make the parameters") {
    val p = CompleterParam(Seq("ports=3", "windows=0:0:0x20000:2", "windows=2:0x4000:4096:1"))
    assert(p.ports == 3 && p.writeBytes == 512)
    assert(p.windows == Seq(TargetWindow(0, 0, 0x20000, 2), TargetWindow(2, 0x4000, 4096, 1)))
    assert(CompleterParam(Nil) == CompleterParam())
  }

  for (
    (what, words) <- Seq(
      "a window of no port"     -> Seq("ports=1", "windows=0:0:4096:1"),
      "windows that overlap"    -> Seq("windows=0:0:8192:0", "windows=0:4096:4096:1"),
      "a window below 4 KiB"    -> Seq("windows=0:0:2048:0"),
      "a write size unknown"    -> Seq("writeBytes=300"),
      "a word without meaning"  -> Seq("depth=3"),
      "a window half described" -> Seq("windows=0:0:4096"),
      "windows beyond a request's bits" ->
        Seq.tabulate(TargetRequest.Windows + 1)(i => s"windows=0:${i * 4096}:4096:0")
    )
  ) test(s"refused: $what") {
    assertThrows[IllegalArgumentException](CompleterParam(words))
  }
}
