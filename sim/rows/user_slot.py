# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Rows `user/*`: rates through the logic in the user slot, with no software that must keep up.

In the row h2c only h2c runs, and the card drops what the logic sends. In the row c2h only c2h runs,
with what the logic sends by itself. In the row duplex both run. Bytes are counted at the hard
block's pins between two planned cycles, beats and stalls at the slot in the same cycles. This
module does not compare the data: the logic's own client does that. If the logic takes or sends
nothing, the row has no value and says so."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from sim.rows import limits
from sim.rows.measure import Conditions
from sim.rows.results import Row, row
from sim.rows.streams import PREFIX, STREAM, Job, Stream
from tools.progress import Step

# If a rate is at least this share of the link's limit, the link binds and not the user slot.
REACHED = 0.95
NOTED = 0.005  # A difference up to this share, of beats or of cycles, is not reported.
WAYS = {"c2h": ("c2h",), "h2c": ("h2c",), "duplex": ("c2h", "h2c")}
SIDE = {"h2c": "sink", "c2h": "source"}


@dataclass(frozen=True)
class Passed:
    """The traffic between two marks (snapshots of counters): bytes by direction, and the counts of
    the user slot's streams."""

    cycles: int
    bytes: dict[str, int]
    slot: dict[str, dict[str, int]]
    # the state of the user slot's sink and source at the second mark
    end: dict[str, dict[str, int]]
    violations: int

    def rate(self, way: str) -> float:
        """Return the rate of a DMA direction between the two marks, in GB/s."""
        return self.bytes[way] / (self.cycles * limits.CYCLE_NS)

    def held(self, way: str, both: bool) -> float:
        """Return the share (0 to 1) of the cycles in which the user's logic, and not the card, held
        the stream of the direction `way` up.

        The logic holds h2c up when its `ready` is low, and c2h when it has no beat to send. If both
        directions run (`both`), the logic also stops taking h2c while the card does not take c2h.
        Those cycles are subtracted, as the card causes them.
        """
        sink, source = self.slot["sink"], self.slot["source"]
        if way == "h2c":
            cycles = sink["stalls"] - (source["stalls"] if both else 0)
        else:
            cycles = self.cycles - source["beats"] - source["stalls"]
        return max(0, cycles) / self.cycles

    @property
    def share(self) -> float:
        """Return how many beats the user's logic sends (source) for each beat that it takes
        (sink)."""
        taken = self.slot["sink"]["beats"]
        return self.slot["source"]["beats"] / taken if taken else math.inf


class SlotStream(Stream):
    """A board whose DMA streams go through the user slot.

    The card's pattern generator and checker are off."""

    def pass_slot(self) -> Passed:
        """Run the job once through the user slot. Return what passed in the measured window."""
        for way in self.job.ways:
            self._map(way)
            self._fill_table(way)
        self._set("pcie_dma0_loopback_enable", 0)
        # The board answers this write, so all earlier writes have arrived at the card.
        self.register("pattern_control", 0)
        self.board.command("clear")
        first, last = self._plan()
        ways = {way: STREAM[way] for way in PREFIX}
        return Passed(
            last["cycle"] - first["cycle"],
            {way: last[s]["payload_bytes"] - first[s]["payload_bytes"] for way, s in ways.items()},
            {
                side: {n: last["slot"][side][n] - first["slot"][side][n] for n in counts}
                for side, counts in last["slot"].items()
            },
            last["slot"],
            last["violations"],
        )


def rows(board: Path, csr: Path, at: Conditions) -> Iterator[Row]:
    """Yield the benchmark rows of c2h, h2c and both directions, each measured on a board of its
    own."""
    for name, ways in WAYS.items():
        with (
            Step(f"measure user/{name}") as step,
            SlotStream(board, csr, at, Job(ways)) as stream,
        ):
            stream.waiting = step.show
            passed = stream.pass_slot()
        yield row_of(name, passed, at)


def row_of(name: str, passed: Passed, at: Conditions) -> Row:
    """Return the row of one run through the user slot: its rate and the link's limit.

    The row also says whether link or slot limits the rate. If a direction moved nothing, rate and
    limit are None."""
    ways = [way for way in WAYS[name] if passed.bytes[way]]
    moved = len(ways) == len(WAYS[name])
    counted = _counted(passed, ways)
    entry = row(
        f"{at.card.prefix}user/{name}",
        passed.rate(counted) if moved else None,
        "GB/s",
        _limit(passed, ways, at) if moved else None,
        violations=passed.violations,
        bytes=passed.bytes[counted] if moved else 0,
        cycles=passed.cycles,
        reason="; ".join(_words(name, passed, ways)) or None,
        conditions={**asdict(at), "traffic": name, "slot": passed.slot},
    )
    if entry.ratio is not None and entry.ratio < REACHED and _holding(passed, ways):
        entry.binds = "user slot"
    return entry


def _even(passed: Passed) -> bool:
    return abs(passed.share - 1) <= NOTED


def _counted(passed: Passed, ways: list[str]) -> str | None:
    """Return the direction, of those in `ways`, whose rate the row has, or None if there is none.

    A single direction is that one. Of both directions it is the slower one if the user's logic
    sends as many beats as it takes. Otherwise it is h2c, whose limit takes c2h's share into
    account."""
    if len(ways) == 2:
        return min(ways, key=passed.rate) if _even(passed) else "h2c"
    return ways[0] if ways else None


def _limit(passed: Passed, ways: list[str], at: Conditions) -> limits.Limit:
    if ways == ["c2h"]:
        return limits.c2h(at.mps, at.mps)
    h2c = limits.h2c(
        at.completion,
        at.mps,
        at.card.tags,
        at.mrrs,
        at.read_latency_ns,
        straddle=at.card.straddle,
        rcb=at.rcb,
    )
    if ways == ["h2c"]:
        return h2c
    share = 1 if _even(passed) else passed.bytes["c2h"] / passed.bytes["h2c"]
    both = limits.duplex_share(at.mps, at.mrrs, share)
    return min(h2c, both, key=lambda limit: limit.value)


def _holding(passed: Passed, ways: list[str]) -> bool:
    """Return whether the user's logic holds a stream up in more than a share NOTED of the cycles.

    The stream is that of the direction that runs. If both directions run, it is that of h2c, since
    c2h waits for h2c anyway.
    """
    return passed.held(_first(ways), len(ways) == 2) > NOTED


def _first(ways: list[str]) -> str:
    return "h2c" if "h2c" in ways else "c2h"


def _words(name: str, passed: Passed, ways: list[str]) -> Iterator[str]:
    """Yield remarks for the row's `reason`: a stream of the user slot stood still, was held up, or
    is uneven."""
    for way in WAYS[name]:
        if way not in ways:
            yield _stands_still(name, way, passed.end[SIDE[way]])
    if len(ways) < len(WAYS[name]):
        return
    if (held := passed.held(_first(ways), len(ways) == 2)) > NOTED:
        signal = "sink.ready" if "h2c" in ways else "source.valid"
        yield f"{signal} low {held:.0%} of the time"
    if len(ways) == 2 and not _even(passed):
        yield f"the logic sends {passed.share:.3g} beats for each that it takes"


def _stands_still(name: str, way: str, side: dict[str, int]) -> str:
    """Return the sentence for a row in which nothing passed in the direction `way`: which signal
    the user's logic has held low, for how long, and after how many beats.

    `side` is the state of the slot's stream at the second mark.
    """
    if name == "c2h":
        after = f" after {side['beats']} beats" if side["beats"] else ""
        return f"the logic sends nothing by itself{after}"
    signal = "sink.ready" if way == "h2c" else "source.valid"
    us = side["held_cycles"] * limits.CYCLE_NS / 1000
    held = f"the logic has held {signal} low for {us:.1f} us, after {side['beats']} beats"
    return held if way == "h2c" else f"{held}; the data of this row has no `last`"
