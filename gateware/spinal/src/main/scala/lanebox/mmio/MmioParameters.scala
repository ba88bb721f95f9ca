// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.mmio

import spinal.core._

import lanebox.pcie.{HardBlock, TargetRequest}

/** A lane memory beside the bridge: `latency` cycles from its read address to its data. */
case class MemoryParameters(name: String, bytes: BigInt, latency: Int, writable: Boolean) {
  require(
    isPow2(bytes) && bytes >= MmioParameters.Page,
    s"memory $name of $bytes bytes: the size must be a power of two, at least a page"
  )
  require(
    latency >= 1 && latency <= 4,
    s"memory $name: a read latency of $latency cycles; it must be 1 to 4"
  )

  val rows     = bytes / MmioParameters.RowBytes
  val rowWidth = log2Up(rows)
}

/** `bytes` bytes of a BAR from `base` on show `target`, from its address `targetBase` on. */
case class Window(bar: Int, base: BigInt, bytes: BigInt, target: String, targetBase: BigInt = 0) {
  private val text = f"window at BAR$bar + 0x$base%x"
  require(bar >= 0 && bar <= 5, s"$text: there are BARs 0 to 5")
  require(
    isPow2(bytes) && bytes >= MmioParameters.Page,
    s"$text: $bytes bytes; it must be a power of two, at least a page: no request crosses a page"
  )
  require(
    base % bytes == 0 && targetBase % bytes == 0,
    s"$text: its base and the target's must be multiples of its $bytes bytes"
  )
  require(base + bytes <= (BigInt(1) << 32), s"$text: it must end within 4 GiB")

  def overlaps(other: Window): Boolean =
    bar == other.bar && base < other.base + other.bytes && other.base < base + bytes
}

/** The shape of a bridge. A window's target is the name of a memory, "wishbone" or "axi". */
case class MmioParameters(
    memories: Seq[MemoryParameters],
    windows: Seq[Window],
    wishbone: Boolean = true,
    axi: Boolean = false,
    axiAddressWidth: Int = 32,
    timeout: Int = 1 << 16, // Cycles after which a target that does not answer is given up.
    writeBytes: Int = 4096  // Bytes of the largest write.
) {
  import MmioParameters._

  val targets = memories.map(_.name) ++ (if (wishbone) Seq(WishboneName) else Nil) ++
    (if (axi) Seq(AxiName) else Nil)

  require(targets.distinct == targets, s"targets ${targets.mkString(", ")}: names must differ")
  require(windows.nonEmpty, "a bridge without windows answers nothing")
  require(
    windows.size <= TargetRequest.Windows,
    s"${windows.size} windows: a request tells ${TargetRequest.Windows} apart"
  )
  require(
    isPow2(writeBytes) && writeBytes >= 128 && writeBytes <= Page,
    s"writes of up to $writeBytes bytes: it must be a payload size of 128 to $Page"
  )
  require(timeout >= 16, s"a timeout of $timeout cycles: at least 16, or idle targets are given up")
  require(
    axiAddressWidth >= 12 && axiAddressWidth <= 32,
    s"an AXI address of $axiAddressWidth bits: a BAR offset has 32, a page needs 12"
  )
  for (window <- windows) {
    require(
      targets.contains(window.target),
      s"a window shows ${window.target}: the targets are ${targets.mkString(", ")}"
    )
    require(
      window.targetBase + window.bytes <= targetBytes(window.target),
      s"a window of ${window.bytes} bytes ends beyond ${window.target}"
    )
  }
  for (pair <- windows.combinations(2)) require(
    !pair(0).overlaps(pair(1)),
    f"windows at BAR${pair(0).bar} + 0x${pair(0).base}%x and 0x${pair(1).base}%x overlap"
  )

  def targetBytes(target: String): BigInt = target match {
    case WishboneName => BigInt(1) << 32
    case AxiName      => BigInt(1) << axiAddressWidth
    case name         => memories.find(_.name == name).get.bytes
  }

  /** Numbers of the lane memories that the completion builder reads: first those outside the
    * bridge, then one for each slow target.
    */
  val wishboneSource = memories.size
  val axiSource      = memories.size + (if (wishbone) 1 else 0)
  val latencies      = memories.map(_.latency) ++ Seq.fill(targets.size - memories.size)(1)
  val sourceWidth    = log2Up(targets.size) max 1
  val rowWidth       = (memories.map(_.rowWidth) :+ landingRowWidth).max
}

object MmioParameters {
  val RowBytes     = HardBlock.DataWidth / 8
  val Page         = 4096
  val Slots        = 32  // Most reads inside: as many as there are non-posted credits.
  val SlotWidth    = log2Up(Slots)
  val PieceBytes   = 512 // Most bytes of a completion, even if the host allows more.
  val PieceRows    = PieceBytes / RowBytes
  val PieceRowBits = log2Up(PieceRows)
  val WishboneName = "wishbone"
  val AxiName      = "axi"

  val landingRowWidth = SlotWidth + PieceRowBits

  /** From `key=value` words: what a build gives the generator.
    *
    *     memory=NAME,BYTES,LATENCY,rw|ro   window=BAR,BASE,BYTES,TARGET[,TARGETBASE]   wishbone=0|1
    *     axi=0|1   axi_address=BITS   timeout=CYCLES   write_bytes=BYTES
    *
    * `memory` and `window` may be repeated; numbers are decimal, or hexadecimal with 0x.
    */
  def parse(words: Seq[String]): MmioParameters = {
    val pairs = words.map { word =>
      word.split("=", 2) match {
        case Array(key, value) => key -> value
        case _                 => throw new IllegalArgumentException(s"`$word` is not key=value")
      }
    }
    val known = Seq("memory", "window", "wishbone", "axi", "axi_address", "timeout", "write_bytes")
    for ((key, _) <- pairs)
      require(known.contains(key), s"`$key` is unknown; there are ${known.mkString(", ")}")
    def all(key: String) = pairs.collect { case (`key`, value) => value.split(",") }
    def one(key: String, default: BigInt) = all(key).lastOption.fold(default)(v => number(v(0)))
    MmioParameters(
      memories = all("memory").map {
        case Array(name, bytes, latency, mode @ ("rw" | "ro")) =>
          MemoryParameters(name, number(bytes), number(latency).toInt, mode == "rw")
        case other => throw new IllegalArgumentException(
            s"memory=${other.mkString(",")}: it is NAME,BYTES,LATENCY,rw|ro"
          )
      },
      windows = all("window").map {
        case Array(bar, base, bytes, target) =>
          Window(number(bar).toInt, number(base), number(bytes), target)
        case Array(bar, base, bytes, target, targetBase) =>
          Window(number(bar).toInt, number(base), number(bytes), target, number(targetBase))
        case other => throw new IllegalArgumentException(
            s"window=${other.mkString(",")}: it is BAR,BASE,BYTES,TARGET[,TARGETBASE]"
          )
      },
      wishbone = one("wishbone", 1) != 0,
      axi = one("axi", 0) != 0,
      axiAddressWidth = one("axi_address", 32).toInt,
      timeout = one("timeout", 1 << 16).toInt,
      writeBytes = one("write_bytes", 4096).toInt
    )
  }

  private def number(text: String): BigInt =
    if (text.startsWith("0x")) BigInt(text.drop(2), 16) else BigInt(text)
}
