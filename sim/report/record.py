# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Records the TLP traces that the report page draws.

They show register accesses, one DMA buffer, and many reads by the card.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from sim.card import Card
from sim.rows.measure import Conditions, check
from sim.trace.tlp import Tlp, load

# A command without DMA. While DMA runs, device time would also contain the time that the host's
# process takes between two accesses.
ALONE = ("info",)
ONE_BUFFER = ("dma_test", "--size", "8K")
MANY_READS = ("dma_test", "--direction", "h2c", "--size", "1M")


@dataclass(frozen=True)
class Recording:
    """The TLPs of the three traces for the report page, each in order.

    `alone` has register accesses, `one` has a buffer to the card and back, `many` has reads by the
    card. `latency_ns` is the host memory's read latency in `many`.
    """

    alone: list[Tlp] = field(default_factory=list)
    one: list[Tlp] = field(default_factory=list)
    many: list[Tlp] = field(default_factory=list)
    latency_ns: int = 0


def record(board: Path, util: Path, at: Conditions) -> Recording:
    """Record and return the three traces, each from a board of its own.

    A trace has no marks by which it could be divided.
    """
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
