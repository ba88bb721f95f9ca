// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.queues

import spinal.core._

import lanebox.vocabulary.{Frames, Numbers}

/** A rule: what a frame must be like, and what is done with it. It has 16 words of 32 bits, which
  * the host writes one by one.
  *
  * {{{
  *    0, 1   value and mask: port (bits 0-3), IPv4 (4), IPv6 (5), fragment (6), has ports (7),
  *           protocol (8-15), VLAN (16-27), has a tag (28)
  *    2, 3   value and mask: EtherType (0-15), TCP flags (16-23)
  *    4, 5   source address, first and second 32 bits; 6, 7: their masks
  *    8, 9   destination address, in the same way; 10, 11: their masks
  *   12      source port: the least (0-15) and the most (16-31)
  *   13      destination port, in the same way
  *   14      length of the frame at its source, in the same way
  *   15      action: bytes to keep (0-13; 0: no change), queue (16-19), has a queue (20), discard
  *           (21), the rule is on (31)
  * }}}
  *
  * A bit is compared where its mask is 1. Of an IPv6 address the first 64 bits are compared, which
  * are those of the network.
  */
case class Rule() extends Bundle {
  val words = Vec(Bits(32 bits), Rule.Words)

  def action: Rule.Action = {
    val word   = words(Rule.ActionWord)
    val action = Rule.Action()
    action.snap     := word(13 downto 0).asUInt
    action.queue    := word(19 downto 16).asUInt
    action.hasQueue := word(20)
    action.discard  := word(21)
    action
  }
  def on: Bool = words(Rule.ActionWord)(31)
}

object Rule {
  val Words      = 1 << Numbers.CaptureWordBits
  val ActionWord = 15

  /** The action of a rule on each frame that matches it first. */
  case class Action() extends Bundle {
    val snap  = UInt(Frames.LengthWidth bits) // Bytes to keep of the frame; 0: no change.
    val queue = UInt(Spread.QueueWidth bits)
    val hasQueue = Bool() // The frame goes to `queue`, and not where the spread sends it.
    val discard  = Bool()
  }

  /** Pairs of what a rule has, as value and mask, and what a frame has in the same bits. */
  def ternaries(rule: Rule, key: FlowKey): Seq[(Bits, Bits, Bits)] = {
    import rule.words
    val facts = B(0, 3 bits) ## key.tagged ## key.vlan ## key.protocol ## key.hasPorts ##
      key.fragment ## key.ipv6 ## key.ipv4 ## key.port.asBits
    val kinds                       = B(0, 8 bits) ## key.tcpFlags ## key.etherType
    def half(address: Bits, i: Int) = address(127 - 32 * i downto 96 - 32 * i)
    Seq(
      (words(0), words(1), facts),
      (words(2), words(3), kinds),
      (words(4), words(6), half(key.source, 0)),
      (words(5), words(7), half(key.source, 1)),
      (words(8), words(10), half(key.destination, 0)),
      (words(9), words(11), half(key.destination, 1))
    )
  }

  /** Pairs of a word with a least and a most value, and the number that must be between them. */
  def ranges(rule: Rule, key: FlowKey): Seq[(Bits, UInt)] = Seq(
    (rule.words(12), key.sourcePort),
    (rule.words(13), key.destinationPort),
    (rule.words(14), key.length)
  )
}
