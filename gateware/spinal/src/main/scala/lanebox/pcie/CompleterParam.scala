// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

/** A part of a BAR that one port of the Completer serves. */
case class TargetWindow(bar: Int, base: BigInt, size: BigInt, port: Int) {
  require(bar >= 0 && bar <= 6, s"BAR $bar: a window needs one of 0 to 5, or 6 for the ROM")
  require(
    size > 0 && base % TargetWindow.Grain == 0 && size % TargetWindow.Grain == 0,
    s"window 0x${base.toString(16)} + 0x${size.toString(16)}: not whole pieces of 4 KiB"
  )
  require(base + size <= (BigInt(1) << 32), s"window 0x${base.toString(16)}: ends above 4 GiB")

  def overlaps(other: TargetWindow): Boolean =
    bar == other.bar && base < other.base + other.size && other.base < base + size

  /** The window as aligned powers of two, each as (base, size). Comparing with these needs no
    * adder.
    */
  def blocks: Seq[(BigInt, BigInt)] = {
    def cut(from: BigInt, left: BigInt): List[(BigInt, BigInt)] =
      if (left == 0) Nil
      else {
        val aligned = if (from == 0) BigInt(1) << 32 else from & -from
        val block   = aligned min (BigInt(1) << (left.bitLength - 1))
        (from, block) :: cut(from + block, left - block)
      }
    cut(base, size)
  }
}

object TargetWindow {

  /** Windows are multiples of this, in bytes. No request crosses 4 KiB, so none leaves its window.
    */
  val Grain = 4096
}

/** The shape of the Completer. `writeBytes`: the largest write that is taken, in bytes; it must be
  * at least the maximum payload size that the card advertises.
  */
case class CompleterParam(
    ports: Int = 2,
    windows: Seq[TargetWindow] = Seq(
      TargetWindow(bar = 0, base = 0, size = 1 << 20, port = 0),
      TargetWindow(bar = 2, base = 0, size = 1 << 20, port = 1)
    ),
    writeBytes: Int = 512
) {
  require(ports >= 1, s"$ports ports: there is nobody to ask")
  require(
    Seq(128, 256, 512, 1024).contains(writeBytes),
    s"writes of up to $writeBytes bytes: not an MPS of 128 to 1024"
  )
  windows.foreach(w => require(w.port < ports, s"$w: there are only $ports ports"))
  for ((port, its) <- windows.groupBy(_.port)) require(
    its.size <= TargetRequest.Windows,
    s"port $port: ${its.size} windows, and a request tells ${TargetRequest.Windows} apart"
  )
  for (a <- windows.combinations(2))
    require(!a(0).overlaps(a(1)), s"${a(0)} and ${a(1)} overlap")

  val writeBeats = writeBytes / (HardBlock.DataWidth / 8)
}

object CompleterParam {

  /** Most non-posted requests inside: the hard block's credit counter ends at 32. */
  val Reads = 32

  /** From `key=value` words: ports, writeBytes, and windows=bar:base:size:port for each window. */
  def apply(words: Seq[String]): CompleterParam = {
    val windows = words.collect { case s"windows=$text" => window(text) }
    val others  = words.filterNot(_.startsWith("windows=")).map(_.split("=", 2))
    def number(name: String): Option[Int] = others.collectFirst { case Array(`name`, n) => n.toInt }
    for (word <- others if !Set("ports", "writeBytes")(word.head))
      throw new IllegalArgumentException(s"${word.mkString("=")}: no parameter of the Completer")
    val default = CompleterParam()
    CompleterParam(
      number("ports").getOrElse(default.ports),
      if (windows.isEmpty) default.windows else windows,
      number("writeBytes").getOrElse(default.writeBytes)
    )
  }

  private def window(text: String): TargetWindow = {
    def number(digits: String) = BigInt(java.lang.Long.decode(digits).longValue)
    text.split(":") match {
      case Array(bar, base, size, port) =>
        TargetWindow(bar.toInt, number(base), number(size), port.toInt)
      case _ => throw new IllegalArgumentException(s"window $text: not bar:base:size:port")
    }
  }
}
