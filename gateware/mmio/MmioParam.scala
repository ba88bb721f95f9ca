// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.mmio

import spinal.core._

import lanebox.vocabulary.targets.TargetRequest
import lanebox.vocabulary.{Arguments, HardBlock, Numbers, Window}

/** The parameters of an MMIO bridge. The target of a window is the name of a memory, "wishbone" or
  * "axi".
  */
case class MmioParam(
    memories: Seq[MemoryParam],
    windows: Seq[Window[String]],
    wishbone: Boolean = true,
    axi: Boolean = false,
    axiAddressWidth: Int = 32,
    // Cycles after which the bridge gives up an access that its target does not answer.
    timeout: Int = Numbers.TargetTimeout,
    writeBytes: Int = Numbers.PageBytes // Bytes of the largest write that can come from the host.
) {
  import MmioParam._

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
      window.aligned,
      s"$window: its size must be a power of two, and both bases multiples of it"
    )
    require(
      targets.contains(window.target),
      s"a window shows ${window.target}: the targets are ${targets.mkString(", ")}"
    )
    require(
      window.targetBase + window.size <= targetBytes(window.target),
      s"$window: it ends beyond its target"
    )
  }
  Window.requireDisjoint(windows)

  def targetBytes(target: String): BigInt = target match {
    case WishboneName => BigInt(1) << 32
    case AxiName      => BigInt(1) << axiAddressWidth
    case name         => memories.find(_.name == name).get.bytes
  }

  /** The numbers that CompletionBuilder gives to the memories that it reads. The memories that the
    * bridge shows come first. Then comes one for each slow target (Wishbone, AXI), in which the
    * data of the target's reads lands.
    */
  val wishboneSource = memories.size
  val axiSource      = memories.size + (if (wishbone) 1 else 0)
  val latencies      = memories.map(_.latency) ++ Seq.fill(targets.size - memories.size)(1)
  val sourceWidth    = log2Up(targets.size) max 1
  val rowWidth       = (memories.map(_.rowWidth) :+ landingRowWidth).max
}

object MmioParam {
  val RowBytes = HardBlock.BeatBytes
  val Page     = Window.Page
  val Reads    = Numbers.MmioReads // The most host reads inside the bridge: one for each credit.
  val ReadNumberWidth = log2Up(Reads)
  // The most payload bytes of a completion, even if the host allows more.
  val PieceBytes   = Numbers.LargestPayload
  val PieceRows    = PieceBytes / RowBytes
  val PieceRowBits = log2Up(PieceRows)
  val WishboneName = "wishbone"
  val AxiName      = "axi"

  val landingRowWidth = ReadNumberWidth + PieceRowBits

  /** Parses the `key=value` arguments that a build gives to the bridge's Verilog generator:
    *
    *     memories=NAME,BYTES,LATENCY,rw|ro   windows=BAR,BASE,SIZE,TARGET[,TARGETBASE]
    *     wishbone=true|false   axi=true|false   axiAddressWidth=BITS   timeout=CYCLES
    *     writeBytes=BYTES
    *
    * `memories` and `windows` may come several times, once for each memory or window.
    */
  def apply(words: Seq[String]): MmioParam = {
    val lists     = Seq("memories", "windows")
    val single    = Seq("wishbone", "axi", "axiAddressWidth", "timeout", "writeBytes")
    val arguments = Arguments(words, lists ++ single: _*)
    val default   = MmioParam(Nil, Seq(Window(0, 0, Page, WishboneName)))
    MmioParam(
      memories = arguments.all("memories").map(memory),
      windows = arguments.all("windows").map(Window.parse(_)(identity)),
      wishbone = arguments.flag("wishbone", default.wishbone),
      axi = arguments.flag("axi", default.axi),
      axiAddressWidth = arguments.int("axiAddressWidth", default.axiAddressWidth),
      timeout = arguments.int("timeout", default.timeout),
      writeBytes = arguments.int("writeBytes", default.writeBytes)
    )
  }

  private def memory(text: String): MemoryParam = {
    import Arguments.number
    text.split(",") match {
      case Array(name, bytes, latency, mode @ ("rw" | "ro")) =>
        MemoryParam(name, number(bytes), number(latency).toInt, mode == "rw")
      case _ =>
        throw new IllegalArgumentException(s"memory $text: not NAME,BYTES,LATENCY,rw|ro")
    }
  }
}
