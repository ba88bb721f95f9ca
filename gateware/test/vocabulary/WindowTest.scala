// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.vocabulary

import org.scalatest.funsuite.AnyFunSuite
import scala.util.Random

/** Tests that a Window covers exactly the range of a BAR that was asked for, or elaboration fails
  * and gives the reason.
  */
class WindowTest extends AnyFunSuite {
  test(s"the aligned blocks of a window are the window, no more and no less, seed ${Seed.value}") {
    val random = new Random(Seed.value)
    for (_ <- 0 until 2000) {
      val base   = random.nextInt(1 << 20) * BigInt(4096)
      val most   = (BigInt(1) << 32) - base
      val size   = ((1 + random.nextInt(1 << random.nextInt(20))) * BigInt(4096)) min most
      val blocks = Window(0, base, size, 0).blocks
      assert(blocks.map(_._2).sum == size && blocks.head._1 == base)
      for (((a, n), (b, _)) <- blocks.zip(blocks.drop(1))) assert(a + n == b)
      for ((a, n) <- blocks) assert(n.bitCount == 1 && a % n == 0, s"$a + $n is not aligned")
    }
    assert(Window(0, 0, BigInt(1) << 32, 0).blocks == Seq((0, BigInt(1) << 32)))
  }

  test("the words of a window are read as they were written") {
    assert(Window.parse("2,0x4000,4096,3")(_.toInt) == Window(2, 0x4000, 4096, 3))
    assert(
      Window.parse("0,0,0x2000,uram,0x2000")(identity) == Window(0, 0, 0x2000, "uram", 0x2000)
    )
  }

  test("windows of other BARs, and those that only touch, do not overlap") {
    val window = Window(0, 0x1000, 0x2000, 0)
    Window.requireDisjoint(
      Seq(window, Window(2, 0x1000, 0x2000, 0), Window(0, 0x3000, 0x1000, 0), Window(0, 0, 4096, 1))
    )
    val message = intercept[IllegalArgumentException](
      Window.requireDisjoint(Seq(window, Window(0, 0x2000, 0x1000, 1)))
    ).getMessage
    assert(message.contains("BAR0 + 0x1000") && message.contains("BAR0 + 0x2000"))
  }

  for (
    (what, make) <- Seq[(String, () => Window[String])](
      "half a page"         -> (() => Window(0, 0, 2048, "a")),
      "nothing"             -> (() => Window(0, 0, 0, "a")),
      "a base in a page"    -> (() => Window(0, 16, 4096, "a")),
      "a target in a page"  -> (() => Window(0, 0, 4096, "a", 16)),
      "a BAR that is none"  -> (() => Window(7, 0, 4096, "a")),
      "an end above 4 GiB"  -> (() => Window(0, 0x1000, BigInt(1) << 32, "a")),
      "a word too few"      -> (() => Window.parse("0,0,4096")(identity)),
      "a word too many"     -> (() => Window.parse("0,0,4096,a,0,0")(identity)),
      "a size in no number" -> (() => Window.parse("0,0,page,a")(identity))
    )
  ) test(s"refused: $what")(assertThrows[IllegalArgumentException](make()))
}
