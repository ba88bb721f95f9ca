// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.vocabulary

/** The `key=value` arguments that a build gives to a component's Verilog generator
  * (tools/verilog/spinal_build.py).
  *
  * A key is the name of a field of the component's parameters. The key of a list is repeated, once
  * for each element. Numbers are decimal, or hexadecimal with 0x. `known` has the keys that the
  * component accepts. Any other key is an error.
  */
case class Arguments(words: Seq[String], known: String*) {
  private val pairs = words.map { word =>
    word.split("=", 2) match {
      case Array(key, value) => key -> value
      case _                 => throw new IllegalArgumentException(s"`$word` is not key=value")
    }
  }
  for ((key, _) <- pairs)
    require(known.contains(key), s"`$key` is unknown; there are ${known.mkString(", ")}")

  /** Returns all values that the build gave for `key`, in their order. */
  def all(key: String): Seq[String] = pairs.collect { case (`key`, value) => value }

  /** Returns the elements of the list `key`, or `default` if there are none. `read` parses one
    * element.
    */
  def list[T](key: String, default: Seq[T])(read: String => T): Seq[T] =
    if (all(key).isEmpty) default else all(key).map(read)

  /** Returns the last value that the build gave for `key`, or `default`. */
  def text(key: String, default: String): String = all(key).lastOption.getOrElse(default)

  /** Returns the number that the build gave for `key`, or `default`. */
  def int(key: String, default: Int): Int =
    all(key).lastOption.fold(default)(Arguments.number(_).toInt)

  /** Returns whether the build set `key` to true, or `default`. Raises an error for other words. */
  def flag(key: String, default: Boolean): Boolean =
    all(key).lastOption.fold(default) {
      case "true"  => true
      case "false" => false
      case other   => throw new IllegalArgumentException(s"$key=$other: it is true or false")
    }
}

object Arguments {

  /** Returns the number in `text`: decimal, or hexadecimal after 0x. */
  def number(text: String): BigInt =
    if (text.startsWith("0x")) BigInt(text.drop(2), 16) else BigInt(text)
}
