// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture

import java.io.PrintWriter
import java.nio.file.{Files, Path}
import scala.language.reflectiveCalls
import scala.util.Random

import lanebox.capture.vocabulary.CaptureParam
import lanebox.vocabulary.{LaneboxSim, Seed}
import spinal.core.sim._

/** Writes recordings of a simulated card into the folder args(0), for test_capture_file.py.
  *
  * Each recording has two files. NAME.blocks has the bytes of the ring. NAME.txt has one line for
  * each frame that must be in the ring: time in ns, port, length, drop count, flags, and the bytes
  * in hex.
  */
object CaptureFile extends App {
  val folder = Path.of(args(0))
  val setups = Map(
    "calm" -> CaptureSetup(limits = 1, mbufLog2 = 15, segmentLog2 = 16),
    "lossy" -> CaptureSetup(
      mbufLog2 = 13,
      segments = 3,
      segmentLog2 = 14,
      limits = 0.0005,
      hostPauses = 0.5,
      keepBad = true
    ),
    "snapped" -> CaptureSetup(snap = 70, seals = 0.002, waits = 0, framePauses = 0.3)
  )
  val compiled = LaneboxSim(Capture(CaptureParam(cells = 16, segments = 16)))
  for ((name, setup) <- setups) compiled.doSim(name, Seed.value) { dut =>
    val bench = new CaptureBench(dut, new Random(Seed.value), setup)
    bench.reset()
    bench.begin()
    bench.offer(500, bad = 5)
    bench.drain(100000)
    bench.stop()
    Files.write(folder.resolve(s"$name.blocks"), bench.host.stream.toArray)
    val lines = new PrintWriter(folder.resolve(s"$name.txt").toFile)
    for (Delivered(frame, kept, drops) <- bench.check()) {
      val data = frame.data.take(kept).map(byte => f"$byte%02x").mkString
      lines.println(s"${frame.time} ${frame.port} ${frame.original} $drops ${frame.flags} $data")
    }
    lines.close()
  }
}
