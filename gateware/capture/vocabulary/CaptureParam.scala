// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.vocabulary

import spinal.core._

import lanebox.vocabulary.{Frames, HardBlock, Numbers}

/** The parameters of the capture. `cells` is the number of cells, of 4 KiB each, in the staging
  * memory on the card. `segments` is the most segments that the ring in host memory may have.
  *
  * With several `queues` each queue has an equal part of the cells and of the segments.
  */
case class CaptureParam(
    cells: Int = Numbers.CaptureCells,
    segments: Int = Numbers.CaptureSegments,
    queues: Int = 1
) {
  require(
    isPow2(cells) && cells >= 8,
    s"$cells cells: a power of two, and at least 8, since the longest record touches 6"
  )
  require(isPow2(segments) && segments >= 2, s"$segments segments: a power of two, 2 or more")
  require(
    Numbers.CaptureQueues.contains(queues),
    s"$queues queues: it is one of ${Numbers.CaptureQueues.mkString(", ")}"
  )
  require(
    queues == 1 || cells / queues >= 8,
    s"$queues queues: of $cells cells each queue has ${cells / queues}, and needs at least 8"
  )

  def several: Boolean = queues > 1
  // Width of a queue's number: 0 if there is one queue.
  def queueWidth: Int = log2Up(queues)
  // Cells and segments of one queue.
  def queueCells: Int    = cells / queues
  def queueSegments: Int = segments / queues

  def cellWidth: Int    = log2Up(cells)
  def rowWidth: Int     = cellWidth + log2Up(CaptureParam.CellRows)
  def segmentWidth: Int = log2Up(segments)
}

/** Sizes of the capture. Names with `Units` are in units of 8 bytes. Every pcapng block that the
  * capture writes is a multiple of 8 bytes.
  */
object CaptureParam {
  val UnitBytes = 8
  val BeatUnits = HardBlock.DataWidth / 8 / UnitBytes

  val CellBytes = Numbers.PageBytes
  val CellUnits = CellBytes / UnitBytes
  val CellRows  = CellUnits / BeatUnits

  /** Log2 of the bytes of the smallest and of the largest MBUF (part of the ring). */
  val LeastMbuf = 12
  val MostMbuf  = 22
  // Width of a count of units of 8 bytes in one MBUF.
  val MbufWidth = MostMbuf - log2Up(UnitBytes) + 1

  /** The width of a pcapng block's size, counted in units of 8 bytes. */
  val BlockWidth = Frames.LengthWidth - log2Up(UnitBytes) + 1

  /** A seal (an MBUF's last block) has 64 bytes. It has 72 if only 8 bytes are left in front of the
    * seal, since a filler is longer.
    */
  val SealUnits   = 8
  val FillerUnits = CellUnits

  /** The bytes of an MBUF that one large record needs beside its data, with the MBUF's seal. */
  val MbufRest = 128

  /** The full cells (4 KiB) after which a status line is sent, even if more data waits. */
  val CellsPerLine = Numbers.CaptureCellsPerLine
}
