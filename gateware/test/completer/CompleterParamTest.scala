// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.completer

import org.scalatest.funsuite.AnyFunSuite

import lanebox.vocabulary.Window
import lanebox.vocabulary.targets.TargetRequest

/** Tests that CompleterParam makes the Completer's parameters from the arguments of a command line,
  * or fails with the reason.
  */
class CompleterParamTest extends AnyFunSuite {
  test("words on the command line make the parameters") {
    val p = CompleterParam(Seq("ports=3", "windows=0,0,0x20000,2", "windows=2,0x4000,4096,1"))
    assert(p.ports == 3 && p.writeBytes == 512)
    assert(p.windows == Seq(Window(0, 0, 0x20000, 2), Window(2, 0x4000, 4096, 1)))
    assert(CompleterParam(Nil) == CompleterParam())
  }

  for (
    (what, words) <- Seq(
      "a window of no port"     -> Seq("ports=1", "windows=0,0,4096,1"),
      "windows that overlap"    -> Seq("windows=0,0,8192,0", "windows=0,4096,4096,1"),
      "a window below 4 KiB"    -> Seq("windows=0,0,2048,0"),
      "a write size unknown"    -> Seq("writeBytes=300"),
      "a word without meaning"  -> Seq("depth=3"),
      "a window half described" -> Seq("windows=0,0,4096"),
      "windows beyond a request's bits" ->
        Seq.tabulate(TargetRequest.Windows + 1)(i => s"windows=0,${i * 4096},4096,0")
    )
  ) test(s"refused: $what") {
    assertThrows[IllegalArgumentException](CompleterParam(words))
  }
}
