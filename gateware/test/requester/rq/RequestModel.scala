// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.requester.rq

import scala.util.Random

/** A request of a client, as a test hands it over. `address` is in bytes. */
case class ClientRequest(
    write: Boolean,
    address: BigInt,
    dwords: Int,
    firstBe: Int,
    lastBe: Int,
    attributes: Int,
    context: Int,
    data: IndexedSeq[Long]
) {
  def beats: Int = if (write) (dwords + 7) / 8 else 1

  /** Returns the byte enables of dword number `dword` of this request. */
  def enables(dword: Int): Int =
    if (dword == 0) firstBe else if (dword == dwords - 1) lastBe else 0xf
}

/** A request TLP as the hard block gets it, decoded from the beats of RQ. */
case class RequestTlp(
    write: Boolean,
    address: BigInt,
    dwords: Int,
    firstBe: Int,
    lastBe: Int,
    attributes: Int,
    tag: Int,
    sequence: Int,
    data: IndexedSeq[Long]
)

/** Model of the rules for requests in the PCIe base specification and PG213, written independently
  * of the hardware.
  */
object RequestModel {
  val Page = 1024 // Dwords in a page of 4 KiB, whose end no TLP may cross.

  /** Returns the sizes, in dwords, of the TLPs that a request must be cut into. `largest` is in
    * dwords.
    */
  def cuts(address: BigInt, dwords: Int, largest: Int): List[Int] = {
    def from(at: Int): List[Int] =
      if (at == dwords) Nil
      else {
        val toPage = Page - ((address / 4 + at) % Page).toInt
        val next   = Seq(dwords - at, toPage, largest).min
        next :: from(at + next)
      }
    from(0)
  }

  /** Decodes a TLP from its dwords on RQ. `beside` has the byte enables and the sequence number,
    * which RQ carries beside the first beat.
    */
  def decode(words: IndexedSeq[Long], beside: (Int, Int, Int)): RequestTlp = {
    assert(words.size >= 4, "a TLP shorter than its descriptor")
    val Seq(low, high, size, tags) = words.take(4)
    val reserved                   = Seq(low & 3, size & 0xffffe000L, tags & 0x8fffff00L)
    assert(reserved.forall(_ == 0), "reserved bits are not 0")
    RequestTlp(
      write = ((size >> 11) & 3) == 1,
      address = (BigInt(high) << 32) + low,
      dwords = (size & 0x7ff).toInt,
      firstBe = beside._1,
      lastBe = beside._2,
      attributes = ((tags >> 28) & 7).toInt,
      tag = (tags & 0xff).toInt,
      sequence = beside._3,
      data = words.drop(4)
    )
  }

  /** Fails if a TLP breaks a rule of PCIe. The model of the board in sim/board checks the same
    * rules.
    */
  def check(tlp: RequestTlp, mps: Int, mrrs: Int): Unit = {
    import tlp._
    assert(dwords >= 1 && dwords * 4 <= (if (write) mps else mrrs), s"$tlp is too long")
    assert((address % 4096).toInt + dwords * 4 <= 4096, s"$tlp crosses 4 KiB")
    assert(data.size == (if (write) dwords else 0), s"$tlp: keep does not fit the dword count")
    if (dwords == 1) assert(lastBe == 0, s"$tlp: one dword with last byte enables")
    else assert(firstBe != 0 && lastBe != 0, s"$tlp: byte enables of 0")
    if (dwords > 2 || dwords == 2 && address % 8 != 0)
      assert(
        Set(0xf, 0xe, 0xc, 0x8)(firstBe) && Set(0xf, 0x7, 0x3, 0x1)(lastBe),
        s"$tlp: byte enables with holes"
      )
  }

  private val Starts = Seq(0xf, 0xe, 0xc, 0x8)
  private val Ends   = Seq(0xf, 0x7, 0x3, 0x1)

  /** Makes a random legal request of `dwords` dwords at this address. */
  def random(r: Random, write: Boolean, address: BigInt, dwords: Int): ClientRequest = {
    def any(of: Seq[Int]) = of(r.nextInt(of.size))
    val holes             = dwords == 2 && address % 8 == 0
    ClientRequest(
      write,
      address,
      dwords,
      if (dwords == 1) r.nextInt(16) else if (holes) 1 + r.nextInt(15) else any(Starts),
      if (dwords == 1) 0 else if (holes) 1 + r.nextInt(15) else any(Ends),
      r.nextInt(8),
      r.nextInt(1 << 16),
      if (write) IndexedSeq.fill(dwords)(r.nextInt() & 0xffffffffL) else IndexedSeq.empty
    )
  }

  /** Returns a random size in dwords: one dword, about a TLP or a beat, or up to 4 KiB. */
  def anyDwords(r: Random): Int = r.nextInt(6) match {
    case 0 => 1
    case 1 => 1 + r.nextInt(20)
    case 2 => 32 * (1 + r.nextInt(4)) + r.nextInt(3) - 1
    case 3 => 1 + r.nextInt(Page)
    case 4 => Page - r.nextInt(3)
    case _ => 1 + r.nextInt(140)
  }

  /** Returns a random offset in a page, in bytes, at which a request begins; often just before the
    * page's end.
    */
  def anyOffset(r: Random): Int = r.nextInt(4) match {
    case 0 => 0
    case 1 => 4 * (Page - 1 - r.nextInt(40))
    case 2 => 32 * r.nextInt(Page / 8)
    case _ => 4 * r.nextInt(Page)
  }
}
