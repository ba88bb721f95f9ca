// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.queues

import spinal.core._
import spinal.lib._

import lanebox.vocabulary.Numbers

/** Finds the first of up to 16 rules that a frame matches.
  *
  * `units` rules are compared in a cycle, so a frame takes `count` / `units` cycles, and one if no
  * rule is in use. With four units even 16 rules take four cycles, which is the time from frame to
  * frame at the line rate of four ports of 10G.
  *
  * The host may write a rule at any time. It switches the rule off first, since a rule that is half
  * written would match other frames.
  */
case class RuleTable(units: Int = 4) extends Component {
  require(
    isPow2(units) && units >= 2 && units < RuleTable.Rules,
    s"$units units: a power of two, 2 to 8, for ${RuleTable.Rules} rules"
  )
  val io = new Bundle {
    val count  = in UInt (RuleTable.CountWidth bits) // Rules in use, from rule 0 on: 0 to 16.
    val write  = slave(Flow(RuleTable.Write()))
    val key    = slave(Stream(FlowKey()))
    val result = master(Flow(RuleTable.Result()))
  }
  import RuleTable._
  val Rows     = Rules / units
  val rowWidth = log2Up(Rows) max 1

  /** Gives a frame's key to the comparison once for each row of `units` rules. */
  val walk = new Area {
    val last = RegNext((io.count > units) ? ((io.count - 1) >> log2Up(units)).resize(rowWidth) |
      U(0, rowWidth bits)) init 0
    val row  = Reg(UInt(rowWidth bits)) init 0
    val ends = row === last
    when(io.key.valid) { row := ends ? U(0) | row + 1 }
    // No stream operator fits: a key is compared with each row, and leaves with the last one.
    io.key.ready := ends
    val valid  = RegNext(io.key.valid) init False
    val first  = RegNext(row === 0)
    val final_ = RegNext(ends)
    val key    = RegNext(io.key.payload)
  }

  /** A memory for each word of a unit's rules, so that the host can write single words. */
  val stored =
    for (unit <- 0 until units) yield new Area {
      val rule = Rule()
      for (word <- 0 until Rule.Words) {
        val memory = Mem(Bits(32 bits), Rows)
        memory.addAttribute("ram_style", "distributed")
        val place = io.write.rule >> log2Up(units)
        memory.write(
          address = place.resize(log2Up(Rows)),
          data = io.write.data,
          enable = io.write.valid && io.write.word === word &&
            io.write.rule.resize(log2Up(units)) === unit
        )
        rule.words(word) := RegNext(memory.readAsync(walk.row.resize(log2Up(Rows))))
      }
    }

  /** Compares the key with one rule in each unit. */
  val compare = new Area {
    val Seq(least, most) = Numbers.CaptureRuleRange
    val inUse = (0 until units).map { unit =>
      RegNext((walk.row @@ U(unit, log2Up(units) bits)) < io.count)
    }
    val parts = stored.zip(inUse).map { case (unit, used) =>
      // A register for each byte: Yosys takes twice the LUTs for a comparison of 32 bits in one.
      val same = Rule.ternaries(unit.rule, walk.key).flatMap { case (value, mask, has) =>
        ((value ^ has) & mask).subdivideIn(8 bits).map(_ === 0)
      }
      val within = Rule.ranges(unit.rule, walk.key).map { case (word, number) =>
        number >= word(least, 16 bits).asUInt && number <= word(most, 16 bits).asUInt
      }
      RegNext(Vec(same ++ within :+ (unit.rule.on && used)))
    }
    val actions = stored.map(unit => RegNext(unit.rule.action))
    val valid   = RegNext(walk.valid) init False
    val first   = RegNext(walk.first)
    val final_  = RegNext(walk.final_)
  }

  /** Keeps the first match of a frame until its last row is compared. */
  val choose = new Area {
    val hits    = compare.parts.map(_.asBits.andR)
    val hit     = hits.reduce(_ || _)
    val earlier = Reg(Result())
    val found   = !compare.first && earlier.matched
    val row     = RegNext(RegNext(walk.row))
    val now     = Result()
    now.matched := found || hit
    now.rule    := earlier.rule
    now.action  := earlier.action
    when(!found) {
      now.rule := (row @@ OHToUInt(OHMasking.first(Cat(hits))))
        .resize(log2Up(Rules))
      now.action := PriorityMux(hits, compare.actions)
    }
    when(compare.valid) { earlier := now }
    val out = Flow(Result())
    out.valid   := compare.valid && compare.final_
    out.payload := now
    when(!now.matched) { out.action := out.action.getZero }
    io.result << out.m2sPipe()
  }
}

object RuleTable {
  val Rules      = 1 << Numbers.CaptureRuleBits
  val CountWidth = log2Up(Rules + 1)

  /** Cycles from a key's last row to its result. */
  val Latency = 3

  /** A word of a rule that the host writes. */
  case class Write() extends Bundle {
    val rule = UInt(log2Up(Rules) bits)
    val word = UInt(log2Up(Rule.Words) bits)
    val data = Bits(32 bits)
  }

  /** The first rule that a frame matches, and the rule's action, which is 0 if none matches. */
  case class Result() extends Bundle {
    val matched = Bool()
    val rule    = UInt(log2Up(Rules) bits)
    val action  = Rule.Action()
  }
}
