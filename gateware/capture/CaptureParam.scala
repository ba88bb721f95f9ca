// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture

import spinal.core._

import lanebox.vocabulary.{Frames, HardBlock, Numbers}

/** The shape of a capture block. `cells`: 4 KiB each, in UltraRAM. `segments`: most segments of a
  * ring.
  */
case class CaptureParam(
    cells: Int = Numbers.CaptureCells,
    segments: Int = Numbers.CaptureSegments
) {
  require(
    isPow2(cells) && cells >= 8,
    s"$cells cells: a power of two, and at least 8, since the longest record touches 6"
  )
  require(isPow2(segments) && segments >= 2, s"$segments segments: a power of two, 2 or more")

  def cellWidth: Int    = log2Up(cells)
  def rowWidth: Int     = cellWidth + log2Up(CaptureParam.CellRows)
  def segmentWidth: Int = log2Up(segments)
}

/** Sizes are in units of 8 bytes: pcapng blocks are multiples of that here. */
object CaptureParam {
  val UnitBytes = 8
  val BeatUnits = HardBlock.DataWidth / 8 / UnitBytes

  val CellBytes = Numbers.PageBytes
  val CellUnits = CellBytes / UnitBytes
  val CellRows  = CellUnits / BeatUnits

  /** Sizes of an MBUF that can be set, as powers of two. */
  val LeastMbuf = 12
  val MostMbuf  = 22
  val MbufWidth = MostMbuf - log2Up(UnitBytes) + 1 // Bits for as many units.

  /** Bits for the units of one block. */
  val BlockWidth = Frames.LengthWidth - log2Up(UnitBytes) + 1

  /** A seal has 64 bytes, or 72 where 8 bytes in front of it could hold no filler. */
  val SealUnits   = 8
  val FillerUnits = CellUnits // At most; see MbufPlacer.

  /** What an MBUF must hold beside the data of its only record. */
  val MbufRest = 128

  /** Data between two status lines while there is more to send, in cells. */
  val CellsPerLine = 4
}
