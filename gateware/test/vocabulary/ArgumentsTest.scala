// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.vocabulary

import org.scalatest.funsuite.AnyFunSuite

/** Tests that Arguments understands every word (name=value) on the command line of a Verilog
  * generator, or refuses it by its name.
  */
class ArgumentsTest extends AnyFunSuite {
  test("a value is a number, a truth value, a text, or an element of a list") {
    val words = Arguments(Seq("a=0x10", "b=true", "c=x=y", "d=1", "d=2"), "a", "b", "c", "d", "e")
    assert(words.int("a", 0) == 16 && words.flag("b", false) && words.text("c", "") == "x=y")
    assert(words.list("d", Seq(0))(_.toInt) == Seq(1, 2))
    assert(
      words.int("e", 5) == 5 && words.flag("e", true) && words.list("e", Seq(0))(_.toInt) == Seq(0)
    )
  }

  for (
    (word, named) <- Seq("depth=3" -> "depth", "ports" -> "ports", "ports=many" -> "many") ++
      Seq("flag=1" -> "flag=1")
  ) test(s"refused: $word") {
    val message = intercept[IllegalArgumentException] {
      val words = Arguments(Seq(word), "ports", "flag")
      words.int("ports", 0)
      words.flag("flag", false)
    }.getMessage
    assert(message.contains(named))
  }
}
