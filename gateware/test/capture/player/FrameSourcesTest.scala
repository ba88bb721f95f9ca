// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture.player

import org.scalatest.funsuite.AnyFunSuite
import scala.util.Random

import lanebox.vocabulary.{LaneboxSim, Seed}

/** Tests FrameSources: the frames of all sources come out whole, in the order of their times, and
  * none waits longer than promised for one that is not whole. Some of the sources are like
  * SlotFrames, and some like Generator.
  */
class FrameSourcesTest extends AnyFunSuite {
  val Patience      = 40
  lazy val compiled = LaneboxSim(FrameSources(4, Patience))

  private def run(name: String)(body: (SourcesBench, Random) => Unit): Unit =
    test(s"$name, seed ${Seed.value}") {
      compiled.doSim(name.takeWhile(_ != ','), Seed.value) { dut =>
        val r = new Random(Seed.value)
        body(new SourcesBench(dut, r), r)
      }
    }

  /** Two sources have a store, and their frames are whole after up to `most` cycles. Two have none.
    */
  private def mixed(bench: SourcesBench, r: Random, load: Double, most: Int): Unit =
    for ((source, i) <- bench.sources.zipWithIndex) {
      source.stored = i < 2
      source.begins = if (i < 2) load / 10 else load
      source.largest = Seq(300, 40, 100, 64)(i)
      if (i < 2) source.lasts = () => r.nextInt(most)
    }

  for (load <- Seq(0.02, 0.2, 1.0); held <- Seq(0.0, 0.3))
    run(s"times never run backwards, load $load, sink pauses $held") { (bench, r) =>
      mixed(bench, r, load, Patience - 5)
      bench.held = held
      bench.cycles(8000)
      bench.rest()
      assert(bench.came.size > 300 && bench.came.map(_.frame.port).distinct.size == 4)
      assert(bench.backwards.isEmpty, bench.backwards.take(3))
    }

  run("only a frame that others have waited for comes late") { (bench, r) =>
    mixed(bench, r, 0.05, 6 * Patience)
    bench.cycles(20000)
    bench.rest()
    assert(bench.backwards.size > 20)
    for (late <- bench.backwards) assert(late.whole - late.shown >= Patience, late)
  }

  run("a source that stands still inside a frame is waited for once") { (bench, r) =>
    val Seq(slow, other, _*) = bench.sources
    slow.stored = true
    other.begins = 1
    for (_ <- 0 until 5) {
      slow.lasts = () => 30 * Patience
      bench.cycles(r.nextInt(20))
      val before = bench.came.size
      slow.begin()
      bench.cycles(29 * Patience)
      val waits = bench.gaps.drop(before - 1).filter(_ > 1)
      assert(waits.size == 1 && (Patience to Patience + 4).contains(waits.head), waits)
      bench.cycles(Patience + 20)
      // It comes as soon as it is whole, and the next one is waited for again.
      val at = bench.came.indexWhere(_.frame.port == 0, before)
      assert(bench.starts(at) - bench.came(at).whole <= 8)
    }
    bench.rest()
  }

  run("a slow frame for which no other has waited long keeps its place") { (bench, r) =>
    val Seq(slow, other, _*) = bench.sources
    slow.stored = true
    other.stored = true
    slow.lasts = () => 3 * Patience
    for (_ <- 0 until 5) {
      slow.begin()
      // The other frame waits for less than `Patience` cycles.
      bench.cycles(2 * Patience + 5 + r.nextInt(Patience - 10))
      other.begin()
      bench.cycles(3 * Patience)
    }
    bench.rest()
    assert(bench.came.map(_.frame.port) == Seq.fill(5)(Seq(0, 1)).flatten)
  }

  run("a source that gives up a late frame is waited for again") { (bench, r) =>
    val Seq(slow, other, _*) = bench.sources
    slow.stored = true
    other.stored = true
    for (_ <- 0 until 5) {
      slow.lasts = () => 30 * Patience
      slow.begin()
      bench.cycles(5)
      other.begin()
      bench.cycles(2 * Patience)
      slow.giveUp()
      bench.cycles(1 + r.nextInt(20))
      slow.lasts = () => Patience - 10
      slow.begin()
      bench.cycles(5)
      other.begin()
      bench.cycles(3 * Patience)
    }
    bench.rest()
    assert(bench.came.map(_.frame.port) == Seq.fill(5)(Seq(1, 0, 1)).flatten)
  }

  run("one source has no cycle between its frames") { (bench, r) =>
    for (stored <- Seq(false, true)) {
      val source = bench.sources(r.nextInt(4))
      source.stored = stored
      source.begins = 1
      bench.cycles(20)
      val from = bench.came.size
      bench.cycles(2000)
      assert(bench.came.size - from > 500 && bench.gaps.drop(from).forall(_ == 0))
      bench.rest()
    }
  }

  run("frames of several sources have one cycle between them at the most") { (bench, _) =>
    for (source <- bench.sources) {
      source.begins = 1
      source.stored = true
    }
    bench.cycles(20)
    val from = bench.came.size
    bench.cycles(4000)
    assert(bench.came.size - from > 500 && bench.gaps.drop(from).max == 1)
    bench.rest()
    assert(bench.backwards.isEmpty)
  }

  for (moves <- Seq(0L, 4L))
    run(s"each source has its turn while all have frames, $moves ns a cycle") { (bench, _) =>
      bench.step = () => moves
      bench.sources.foreach(_.begins = 1)
      bench.cycles(3000)
      val turns = bench.came.map(_.frame.port).toSeq
      assert(turns.size > 500)
      for (part <- turns.drop(4).sliding(4)) assert(part.distinct.size == 4, part)
      bench.rest()
    }

  run("recorded times in a frame's head do not matter") { (bench, r) =>
    mixed(bench, r, 0.2, Patience - 5)
    bench.sources(3).recorded = true
    bench.cycles(8000)
    bench.rest()
    assert(bench.backwards.isEmpty)
  }

  run("each frame comes while the clock is set, forwards and back") { (bench, r) =>
    mixed(bench, r, 0.3, 3 * Patience)
    bench.step = () => if (r.nextInt(50) == 0) r.nextInt(1 << 30) - (1 << 29) else 4
    bench.cycles(20000)
    val longest = (bench.gaps.max, bench.came.size)
    assert(longest._1 <= 3 * Patience && longest._2 > 1000, longest)
    bench.rest()
  }
}
