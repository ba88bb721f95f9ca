// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture

import spinal.core._
import spinal.lib._

import lanebox.capture.accounts.AccountTable
import lanebox.capture.queues.{DiscardAccounts, FrameSorter, RuleTable, Spread}
import lanebox.capture.record.QueueCells
import lanebox.capture.vocabulary.CaptureParam
import lanebox.vocabulary.{Frames, Numbers}

/** Sorts frames into several queues, each of which has a ring of its own in host memory.
  *
  * {{{
  *                              +--- discarded ---> DiscardAccounts
  *   frames ---> FrameSorter ---+
  *                              +--- frames, with their queues ---> Capture ---> request
  * }}}
  *
  * Each queue has its own limit, status line and accounts, and its quota of the staging memory. So
  * a queue whose host has stopped loses its own frames and no others, unless the quotas are more
  * together than the memory has.
  *
  * While `sorts` is low, the rules are not used and all frames go to queue 0. The number of a queue
  * counts modulo the number of queues in the build.
  *
  * `limit`, `segment`, `wake`, `seal`, `quota`, `position` and the accounts are those of the queue
  * that `select` names. This queue also gets the address of the status line and the last segment of
  * the settings, when they are written. All other settings are common to all queues. A queue
  * ignores `newest` until it has the address of a status line, since it would write to an unknown
  * ring.
  */
case class CaptureQueues(p: CaptureParam) extends CaptureBlock(p) {
  require(p.queues > 1, s"$p: one queue needs no CaptureQueues")
  setDefinitionName("CaptureQueues")
  val sort = CaptureQueues.Ports()

  val sorter   = FrameSorter()
  val discards = DiscardAccounts()

  /** Lets the frames through that begin while `run` is on. The queues run until these frames have
    * reached them.
    */
  val gate = new Area {
    val first  = RegNextWhen(io.frames.last, io.frames.fire) init True
    val inside = RegInit(False)
    val opens  = first ? io.settings.run | inside
    when(io.frames.fire) { inside := opens && !io.frames.last }
    sorter.io.frames << io.frames.throwWhen(!opens).m2sPipe()
  }

  sorter.io.count  := sort.sorts ? sort.count | U(0)
  sorter.io.byPort := sort.byPort
  sorter.io.rule << sort.rule
  sorter.io.spread << sort.spread

  /** Gives each sorted frame to its queue, or drops it and counts it with its first beat. */
  val route = new Area {
    val routed = CaptureQueues.RoutedBeat(p)
    routed.beat    := sorter.io.sorted.fragment
    routed.number  := sort.sorts ? sorter.io.verdict.queue.resize(log2Up(p.queues)) | U(0)
    routed.discard := sorter.io.verdict.discard
    routed.rule    := sorter.io.verdict.rule
    val fragment = Fragment(CaptureQueues.RoutedBeat(p))
    fragment.fragment := routed
    fragment.last     := sorter.io.sorted.last
    val out   = sorter.io.sorted.translateWith(fragment).m2sPipe()
    val first = RegNextWhen(out.last, out.fire) init True

    val Seq(kept, dropped) = StreamDemux(out, out.discard.asUInt, 2).toSeq
    val discard            = DiscardAccounts.Discard()
    discard.rule  := dropped.rule
    discard.port  := dropped.beat.head.port
    discard.bytes := dropped.beat.head.original
    val firstDropped = dropped.throwWhen(!first)
    discards.io.discards << firstDropped.translateWith(discard)

    val frame = Fragment(Frames.Beat())
    frame.fragment := kept.beat
    frame.last     := kept.last
    val frames = kept.translateWith(frame)
    val busy   = gate.inside || sorter.io.busy || sorter.io.frames.valid || out.valid
  }

  // `busy` of the sorter is a cycle late, and frames may be between two stages in this cycle. So
  // the queues run for three cycles more.
  val wasBusy = Reg(Bits(3 bits)) init 0
  wasBusy := wasBusy(1 downto 0) ## route.busy
  val lingers = wasBusy.orR
  val runs    = RegNext(io.settings.run || route.busy || lingers) init False

  val given = Capture.Settings(p)
  given := io.settings
  given.run.allowOverride()
  given.run := runs

  // A write for a queue that the build does not have is ignored.
  val known = sort.select.resize(Spread.QueueWidth + 1) < p.queues
  // So is a quota with which a frame could wait for cells for ever.
  val quotaFits = sort.quota.payload >= QueueCells.LeastQuota && sort.quota.payload <= p.cells
  val capture   = Capture(p)
  capture.several.queue         := route.kept.number
  capture.several.select        := sort.select.resized
  capture.several.statusWritten := sort.statusWritten && known
  capture.several.lastWritten   := sort.lastWritten && known
  capture.several.quota.valid   := sort.quota.valid && known && quotaFits
  capture.several.quota.queue   := sort.select.resized
  capture.several.quota.cells   := sort.quota.payload.resized
  capture.io.settings           := given
  capture.io.clear              := io.clear
  capture.io.seal               := io.seal && known
  capture.io.limit << io.limit.takeWhen(known)
  capture.io.segment << io.segment.takeWhen(known)
  capture.io.wake << io.wake.takeWhen(known)
  capture.io.now := io.now
  capture.io.frames << route.frames
  capture.io.snapshot := io.snapshot
  capture.io.index    := io.index
  io.call             := capture.io.call
  io.calls            := capture.io.calls
  io.request << capture.io.request
  io.position := capture.io.position
  io.account  := capture.io.account
  val atRest = RegNext(!io.settings.run && !runs && capture.io.idle) init False
  io.idle := atRest

  discards.io.clear    := io.clear
  discards.io.snapshot := io.snapshot
  discards.io.index    := sort.index
  sort.discarded       := discards.io.account
  io.accountsBusy      := capture.io.accountsBusy || discards.io.busy
}

object CaptureQueues {
  val QuotaWidth = log2Up(Numbers.CaptureCells) + 1

  /** The registers that the host has beside those of one queue. */
  case class Ports() extends Bundle {
    val select        = in UInt (Spread.QueueWidth bits)
    val statusWritten = in Bool () // The address of the selected queue's status line was written.
    val lastWritten   = in Bool () // The number of the selected queue's last segment was written.
    // Cells of the staging memory that the selected queue may have in use.
    val quota = slave(Flow(UInt(CaptureQueues.QuotaWidth bits)))

    val sorts  = in Bool ()
    val byPort = in Bool ()                          // Queues are chosen by port, and not by hash.
    val count  = in UInt (RuleTable.CountWidth bits) // Rules in use, from rule 0 on.
    val rule   = slave(Flow(RuleTable.Write()))
    val spread = slave(Flow(Spread.Write()))

    val index     = in UInt (DiscardAccounts.IndexWidth bits)
    val discarded = out(AccountTable.Account())
  }

  /** A beat of a frame that has been sorted, with what is done with the frame. */
  case class RoutedBeat(p: CaptureParam) extends Bundle {
    val beat    = Frames.Beat()
    val number  = UInt(log2Up(p.queues) bits) // The queue to which the frame goes.
    val discard = Bool()
    val rule    = UInt(log2Up(RuleTable.Rules) bits)
  }
}
