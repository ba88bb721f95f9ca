// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture

import scala.collection.mutable

/** Compares the recording of one queue with the frames that were sent to it. */
object RecordingCheck {
  private def kept(setup: CaptureSetup, frame: TestFrame): Int = {
    val largest = (1 << setup.mbufLog2) - 128
    Seq(frame.data.size, largest, if (setup.snap == 0) largest else setup.snap).min
  }

  /** Compares the recording in the memory of `host` with the frames `seen`, and the card's accounts
    * `told` with the test's own counts. Returns the frames whose records are in the ring, in order.
    */
  def apply(
      setup: CaptureSetup,
      host: RingHost,
      seen: Seq[TestFrame],
      told: Map[Int, PortAccount],
      queue: Int = 0
  ): Seq[Delivered] = {
    import setup._
    val bytes      = host.stream.toArray
    val mbufs      = Pcapng.checkMbufs(bytes, 1 << mbufLog2)
    val numbers    = seen.map(_.time).zipWithIndex.toMap
    val good       = seen.filter(frame => keepBad || !frame.error)
    var last       = -1
    var position   = 0
    var first      = false
    val delivered  = mutable.ArrayBuffer[Delivered]()
    val lostBefore = mutable.Map[Int, Long]().withDefaultValue(0L)
    // The frames that the latest seal reports as lost, by cause: ring, staging memory.
    var sealedLost = (0L, 0L)
    // Lost frames among the first `count` frames that were sent, if so many were delivered.
    def lostOf(count: Int) = seen.take(count).count(f => keepBad || !f.error) - delivered.size
    for (items <- mbufs; item <- items) {
      item match {
        case packet: Pcapng.Packet =>
          val number = numbers(packet.time)
          assert(number > last, s"frame $number behind frame $last")
          if (first) {
            // A seal is written before the next MBUF's first record, so it counts no later loss.
            assert(sealedLost._1 + sealedLost._2 <= lostOf(number), s"$sealedLost before $packet")
            first = false
          }
          for (frame <- seen.slice(last + 1, number) if keepBad || !frame.error)
            lostBefore(frame.port) += 1
          last = number
          val frame = seen(number)
          val want  = Pcapng.record(frame, kept(setup, frame), lostBefore(frame.port))
          assert(
            bytes.slice(position, position + item.size).sameElements(want),
            s"$packet, not $frame"
          )
          delivered += Delivered(frame, packet.kept, packet.drops)
          lostBefore(frame.port) = 0
        case seal: Pcapng.Sealed =>
          val sum = delivered.map(_.frame.original.toLong).sum
          assert(seal.records == delivered.size && seal.bytes == sum, s"$seal")
          assert(seal.queue == queue, s"$seal of queue $queue")
          // A seal's counts of lost frames include at least all frames that were lost before the
          // last record in the seal's MBUF.
          assert(seal.lostRing + seal.lostNoCell >= lostOf(last + 1), s"$seal")
          assert(seal.lostRing >= sealedLost._1 && seal.lostNoCell >= sealedLost._2, s"$seal")
          sealedLost = (seal.lostRing, seal.lostNoCell)
          first = true
        case _ =>
      }
      position += item.size
    }
    assert(host.records == delivered.size && host.position == position)
    val lost = good.size - delivered.size
    assert(host.lost <= lost, s"${host.lost} lost in the line, $lost in all")

    val lostRing   = told.values.map(_.lostRing._1).sum
    val lostNoCell = told.values.map(_.lostNoCell._1).sum
    assert(lostRing >= sealedLost._1 && lostNoCell >= sealedLost._2, s"$sealedLost of $told")
    if (newest || lossless) assert(lostRing == 0, s"$lostRing lost for a ring that has room")
    if (lossless) assert(lostNoCell == 0, s"$lostNoCell lost, and not one may be")
    for (port <- 0 until 16) {
      def sum(frames: Iterable[TestFrame]) = {
        val own = frames.filter(_.port == port)
        (own.size.toLong, own.map(_.original.toLong).sum)
      }
      val account = told(port)
      assert(account.total == sum(seen), s"port $port: $account of ${sum(seen)}")
      assert(account.delivered == sum(delivered.map(_.frame)), s"port $port: $account")
      assert(account.bad == sum(seen.filter(f => f.error && !keepBad)), s"port $port: $account")
    }
    delivered.toSeq
  }
}
