// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.queues

import spinal.core._

import lanebox.vocabulary.{Frames, Numbers}

/** A rule: what a frame must be like, and what is done with it. It has 16 words of 32 bits, which
  * the host writes one by one. numbers.py has the places of words and fields, and
  * capture/vocabulary/bits.py their names.
  *
  * {{{
  *   facts               value and mask: port, IPv4, IPv6, fragment, has ports, protocol, VLAN, tag
  *   kinds               value and mask: EtherType, TCP flags
  *   source              address, first and second 32 bits, and the masks of both
  *   destination         address, in the same way
  *   source_ports        the least and the most
  *   destination_ports   in the same way
  *   lengths             of the frame at its source, in the same way
  *   action              bytes to keep (0: no change), queue, has a queue, discard, the rule is on
  * }}}
  *
  * A bit is compared where its mask is 1. Of an IPv6 address the first 64 bits are compared, which
  * are those of the network.
  */
case class Rule() extends Bundle {
  val words = Vec(Bits(32 bits), Rule.Words)

  private def act(field: Int): Int = Numbers.CaptureRuleAction(field)

  def action: Rule.Action = {
    val word   = words(Rule.actionWord)
    val action = Rule.Action()
    action.snap     := word(act(0), widthOf(action.snap) bits).asUInt
    action.queue    := word(act(1), widthOf(action.queue) bits).asUInt
    action.hasQueue := word(act(2))
    action.discard  := word(act(3))
    action
  }
  def on: Bool = words(Rule.actionWord)(act(4))
}

object Rule {
  val Words = 1 << Numbers.CaptureWordBits
  val Seq(
    factsWord,
    kindsWord,
    sourceWord,
    destinationWord,
    sourcePortsWord,
    destinationPortsWord,
    lengthsWord,
    actionWord
  ) = Numbers.CaptureRuleWords

  /** The action of a rule on each frame that matches it first. */
  case class Action() extends Bundle {
    val snap  = UInt(Frames.LengthWidth bits) // Bytes to keep of the frame; 0: no change.
    val queue = UInt(Spread.QueueWidth bits)
    val hasQueue = Bool() // The frame goes to `queue`, and not where the spread sends it.
    val discard  = Bool()
  }

  /** Returns a word of 32 bits with each field at its position. `places` has the lowest bits of the
    * fields, in rising order.
    */
  private def word(places: Seq[Int], values: Data*): Bits = {
    val ends = values.zip(places).map { case (value, place) => place + widthOf(value) }
    val gaps = (places.tail :+ 32).zip(ends).map { case (next, end) => next - end }
    val parts = values.map(_.asBits).zip(gaps).flatMap { case (value, gap) =>
      value +: Seq.fill(if (gap > 0) 1 else 0)(B(0, gap bits))
    }
    parts.reverse.reduce(_ ## _)
  }

  /** Returns triples: a value and a mask of the rule, and the bits of the frame to compare with
    * them.
    */
  def ternaries(rule: Rule, key: FlowKey): Seq[(Bits, Bits, Bits)] = {
    import key.{destination, etherType, fragment, hasPorts, ipv4, ipv6, port, protocol}
    import key.{source, tagged, tcpFlags, vlan}
    val facts =
      word(Numbers.CaptureRuleFacts, port, ipv4, ipv6, fragment, hasPorts, protocol, vlan, tagged)
    val kinds                             = word(Numbers.CaptureRuleKinds, etherType, tcpFlags)
    def half(address: Bits, i: Int): Bits = address(127 - 32 * i downto 96 - 32 * i)
    def compared(word: Int, mask: Int, value: Bits): (Bits, Bits, Bits) =
      (rule.words(word), rule.words(mask), value)
    Seq(
      compared(factsWord, factsWord + 1, facts),
      compared(kindsWord, kindsWord + 1, kinds),
      compared(sourceWord, sourceWord + 2, half(source, 0)),
      compared(sourceWord + 1, sourceWord + 3, half(source, 1)),
      compared(destinationWord, destinationWord + 2, half(destination, 0)),
      compared(destinationWord + 1, destinationWord + 3, half(destination, 1))
    )
  }

  /** Returns pairs: a word of the rule with a least and a greatest value, and the frame's number
    * that must lie between them.
    */
  def ranges(rule: Rule, key: FlowKey): Seq[(Bits, UInt)] = Seq(
    (rule.words(sourcePortsWord), key.sourcePort),
    (rule.words(destinationPortsWord), key.destinationPort),
    (rule.words(lengthsWord), key.length)
  )
}
