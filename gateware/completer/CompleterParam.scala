// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.completer

import lanebox.vocabulary.targets.TargetRequest
import lanebox.vocabulary.{Arguments, HardBlock, Numbers, Window}

/** The parameters of the Completer. The target of a window is the number of its port. `writeBytes`
  * is the largest write that the Completer takes. It must be at least the maximum payload size that
  * the card advertises.
  */
case class CompleterParam(
    ports: Int = 2,
    windows: Seq[Window[Int]] = Seq(
      Window(bar = 0, base = 0, size = 1 << 20, target = 0),
      Window(bar = 2, base = 0, size = 1 << 20, target = 1)
    ),
    writeBytes: Int = Numbers.LargestPayload
) {
  require(ports >= 1, s"$ports ports: there is nobody to ask")
  require(
    Seq(128, 256, 512, 1024).contains(writeBytes),
    s"writes of up to $writeBytes bytes: not an MPS of 128 to 1024"
  )
  windows.foreach(w => require(w.target < ports, s"$w: there are only $ports ports"))
  for ((port, its) <- windows.groupBy(_.target)) require(
    its.size <= TargetRequest.Windows,
    s"port $port: ${its.size} windows, and a request tells ${TargetRequest.Windows} apart"
  )
  Window.requireDisjoint(windows)

  val writeBeats = writeBytes / HardBlock.BeatBytes
}

object CompleterParam {

  /** The most non-posted requests of the host that may be inside the card (32). The hard block
    * counts no more credits than that.
    */
  val Reads = Numbers.MmioReads

  /** Parses the `key=value` arguments of a build: ports, writeBytes, and windows=BAR,BASE,SIZE,PORT
    * for each window.
    */
  def apply(words: Seq[String]): CompleterParam = {
    val arguments = Arguments(words, "ports", "windows", "writeBytes")
    val default   = CompleterParam()
    CompleterParam(
      arguments.int("ports", default.ports),
      arguments.list("windows", default.windows)(Window.parse(_)(_.toInt)),
      arguments.int("writeBytes", default.writeBytes)
    )
  }
}
