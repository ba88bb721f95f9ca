# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Records the TLP traces that the page draws: register accesses, one DMA buffer, many reads."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from sim.card import Card
from sim.rows.measure import Conditions, check
from sim.trace.tlp import Tlp, load

# no DMA: while it runs, device time would also count the time that the host's process takes
ALONE = ("info",)
ONE_BUFFER = ("dma_test", "--size", "8K")
MANY_READS = ("dma_test", "--direction", "h2c", "--size", "1M")


@dataclass(frozen=True)
class Recording:
    """The TLPs of three traces, each in order.

    `alone` has register accesses, `one` has a buffer there and back, `many` has reads by the card.
    `latency_ns` is the host memory's read latency in `many`.
    """

    alone: list[Tlp] = field(default_factory=list)
    one: list[Tlp] = field(default_factory=list)
    many: list[Tlp] = field(default_factory=list)
    latency_ns: int = 0


def record(board: Path, util: Path, at: Conditions) -> Recording:
    """Record the three traces, each on a board of its own: a trace has no marks to divide it."""
    return Recording(
        _trace(board, util, at, ALONE),
        _trace(board, util, at, ONE_BUFFER),
        _trace(board, util, at, MANY_READS),
        at.read_latency_ns,
    )


def _trace(board: Path, util: Path, at: Conditions, command: tuple[str, ...]) -> list[Tlp]:
    with tempfile.TemporaryDirectory(prefix="lanebox-") as folder:
        path = Path(folder, "trace.pcapng")
        with Card(board, util, at, ["--tlp-log", str(path)]) as card:
            check(card.run(*command)[0])
        return list(load(path))
