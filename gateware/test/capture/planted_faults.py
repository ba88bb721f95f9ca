# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Mistakes in the capture block that its suites must find: the table FAULTS.

A fault replaces a piece of one Scala source's text by another text, and names a ScalaTest suite
that must then fail. test_capture_faults.py plants each fault in a copy of gateware/. It also fails
if a source does not have a fault's old text exactly once. The fault must then be written anew.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """A mistake: what it does, its source below gateware/capture, the text that it replaces and the
    new text, and the suite that must fail, below lanebox.capture.
    """

    name: str
    source: str
    old: str
    new: str
    suite: str


def _faults(source: str, suite: str, *rows: tuple[str, str, str]) -> list[Fault]:
    """Return the faults of one source. A row has the name, the old text and the new text."""
    return [Fault(name, source, old, new, suite) for name, old, new in rows]


FAULTS = [
    # sources of frames
    *_faults(
        "player/FrameSources.scala",
        "player.FrameSourcesTest",
        (
            "what was compared about a frame that has left counts for the next one",
            "settled && stood(i)",
            "stood(i)",
        ),
        (
            "a source that stands still inside a frame holds the others up for ever",
            "when(over && isFor(i)) { late(i) := True }",
            "when(over && isFor(i)) { late(i) := False }",
        ),
        (
            "at equal times the first source always goes first",
            "{ pair.turn := chosen(pair.i) }",
            "{ pair.turn := False }",
        ),
    ),
    *_faults(
        "player/SlotFrames.scala",
        "player.SlotFramesTest",
        (
            "a frame has the time of its packet's last beat",
            "times.io.push.valid   := io.stream.fire && first",
            "times.io.push.valid   := io.stream.fire && last",
        ),
    ),
    *_faults(
        "player/FrameCopy.scala",
        "player.NetFramesTest",
        (
            "a copy is torn when the store becomes full inside it",
            "(first ? room | going)",
            "(first ? room | (going && room))",
        ),
    ),
    *_faults(
        "player/Player.scala",
        "player.PlayerTest",
        (
            "a frame of whole beats takes one beat of the next frame, too",
            "val more  = ((due.kept - 1) >> 5)",
            "val more  = (due.kept >> 5)",
        ),
    ),
    # queues
    *_faults(
        "queues/Spread.scala",
        "queues.FrameSorterTest",
        (
            "the port of the next frame chooses the queue",
            "Delay(io.key.port, 2)",
            "Delay(io.key.port, 1)",
        ),
    ),
    # records, MBUFs and their seals
    *_faults(
        "record/MbufPlacer.scala",
        "record.MbufPlacerTest",
        (
            "a record that reaches into the next cell takes none",
            "((mbuf.fill.resize(log2Up(CellUnits)) +^ units) >>",
            "((U(0, log2Up(CellUnits) bits) +^ units) >>",
        ),
        (
            "a frame that is lost for want of a cell is in no drop count",
            "when(lost) { drops.pendings.next(drops.port) := True }",
            "when(decide.noRing) { drops.pendings.next(drops.port) := True }",
        ),
        (
            "the second MBUF has the number of the first",
            "mbuf.numbers.next := mbuf.number + 1",
            "mbuf.numbers.next := mbuf.number",
        ),
        (
            "a filler takes the room of the seal",
            "(mbuf.left <= 1) ? (mbuf.left + SealUnits).resize(BlockWidth) |",
            "(mbuf.left <= 2) ? (mbuf.left + SealUnits).resize(BlockWidth) |",
        ),
    ),
    *_faults(
        "record/QueueCells.scala",
        "queues.CaptureQueuesTest",
        (
            "a queue with more cells than its new quota takes any number",
            "left.msb ? U(0, 4 bits) | counted(left)",
            "counted(left)",
        ),
        (
            "a queue takes cells that another queue has in use",
            "counted(free) min own.most",
            "own.most",
        ),
    ),
    *_faults(
        "record/BlockExpander.scala",
        "record.RecordBuilderTest",
        (
            "a filler is not all zeros",
            "Seq.fill(5)(dword(0))",
            "Seq.fill(5)(bytes)",
        ),
    ),
    # the way to the host
    *_faults(
        "writer/RingLimit.scala",
        "writer.RingLimitTest",
        (
            "a stale limit, below the last one, counts",
            "grows       := came && latest > limits.now",
            "grows       := came",
        ),
    ),
    *_faults(
        "writer/TransferChooser.scala",
        "writer.HostWriterTest",
        (
            "a status line is ahead of its data",
            "(whole.units @@ U(0, 3 bits))",
            "((whole.units + 1) @@ U(0, 3 bits))",
        ),
    ),
    *_faults(
        "writer/RingWake.scala",
        "writer.RingWakeTest",
        (
            "a position that is just reached counts as passed",
            "tolds.of(queue) > wakes.of(queue)",
            "tolds.of(queue) >= wakes.of(queue)",
        ),
        (
            "the host is called before the status line has left",
            "beyond && !io.lineWaits && !io.wake.valid",
            "beyond && !io.wake.valid",
        ),
    ),
]
