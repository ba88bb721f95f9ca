// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.mmio

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.HardBlock

/** The port of a lane memory: a memory of eight 32-bit lanes, each with its own row address.
  *
  * The dword at byte address 32 r + 4 l is in lane l of row r. An access that starts in lane o of
  * row r takes row r in lanes o and above, and row r + 1 in the lanes below. So any eight
  * consecutive dwords take one cycle. Data is in the order of the lanes, not of the payload. A read
  * sees the writes of earlier cycles.
  */
case class LaneMemoryPort(rowWidth: Int) extends Bundle with IMasterSlave {
  require(rowWidth >= 1, s"row addresses of $rowWidth bits: a lane memory has at least 2 rows")

  val writeRows  = Vec(UInt(rowWidth bits), HardBlock.Dwords)
  val writeData  = Bits(HardBlock.DataWidth bits)
  val writeMask  = Bits(HardBlock.DataWidth / 8 bits) // A bit for each byte: 1 if it is written.
  val readEnable = Bool()
  val readRows   = Vec(UInt(rowWidth bits), HardBlock.Dwords)
  val readData   = Bits(HardBlock.DataWidth bits)

  override def asMaster(): Unit = {
    out(writeRows, writeData, writeMask, readEnable, readRows)
    in(readData)
  }
}

/** Rotates beats between the order of a TLP's payload (dword 0 in lane 0) and the order of a lane
  * memory (the dword's address says the lane).
  */
object LaneMemoryPort {
  private val count = HardBlock.Dwords

  /** Rotates a beat from payload order to lane order, in two steps: `turnEven` by the even part of
    * the shift (4 inputs for each bit), and `turnOdd` by the odd part (2 inputs). The two steps
    * take two LUTs for each bit. A rotation in one step would take four.
    */
  def turnEven(payload: Bits, shift: UInt): Bits = {
    val lane = widthOf(payload) / count
    shift(2 downto 1).muxList((0 to 3).map(n => n -> payload.rotateLeft(2 * n * lane)))
  }
  def turnOdd(payload: Bits, shift: UInt): Bits =
    shift(0) ? payload.rotateLeft(widthOf(payload) / count) | payload

  /** Rotates a beat from lane order back to payload order: dword i comes from lane i + shift,
    * modulo 8. It takes two steps, `turnBackEven` and `turnBackOdd`.
    */
  def turnBackEven(lanes: Bits, shift: UInt): Bits = {
    val lane = widthOf(lanes) / count
    shift(2 downto 1).muxList((0 to 3).map(n => n -> lanes.rotateRight(2 * n * lane)))
  }
  def turnBackOdd(even: Bits, shift: UInt): Bits =
    shift(0) ? even.rotateRight(widthOf(even) / count) | even

  /** Returns the row address of each lane for an access to 32 bytes of a lane memory that starts in
    * lane `shift` of row `row`. `following` is the row after it, as `next` computes it.
    */
  def rows(row: UInt, following: UInt, shift: UInt): Vec[UInt] =
    Vec((0 until count).map(lane => (shift > lane) ? following | row))

  /** Returns the address of the row after `row` in a lane memory. No request crosses a page of 4
    * KiB, so only the row's bits inside the page need an adder.
    */
  def next(row: UInt): UInt = {
    val inPage = log2Up(MmioParam.Page / MmioParam.RowBytes)
    if (widthOf(row) <= inPage) row + 1
    else row(widthOf(row) - 1 downto inPage) @@ (row(inPage - 1 downto 0) + 1)
  }
}
