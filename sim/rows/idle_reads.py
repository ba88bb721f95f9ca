# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Rows `mmio_read_cycles/*`: how long an idle card takes to answer a read of the host.

The time is counted in cycles of 4 ns at the card's pins, from the beat of the request on CQ to the
first beat of the completion on CC. The time on the link and in the host is not included.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from gateware import numbers
from sim.errors import TestFailed
from sim.rows import limits
from sim.rows.measure import Conditions
from sim.rows.peer import Bar, Place
from sim.rows.results import Row, row
from sim.trace import tlp

READS = 20
# The budget in cycles of a read of each place. A register (`csr`) takes eight cycles: the five of a
# memory, two for the CSR bus (address, data), and one for the way back.
MOST = {"bram": 5, "identity": 5, "uram": 7, "csr": 8}


def places(csr: dict) -> dict[str, Place]:
    """Return the addresses that are read in this gateware, by the name of their row.

    `csr` is the gateware's register map.
    """
    base = {name: memory["base"] for name, memory in csr["memories"].items()}
    found = {"bram": Place(0, base["memory0"]), "identity": Place(0, base["capability"])}
    if "pcie_bar2_size" in csr["constants"]:
        found["uram"] = Place(2, numbers.CARD_MEMORY_BASE)
    return {**found, "csr": Place(0, csr["csr_registers"]["ctrl_scratch"]["addr"])}


def cycles(board: Path, csr: Path, at: Conditions) -> dict[str, list[int]]:
    """Read 4 bytes READS times at each place, one read after the other.

    Returns the number of cycles that each read took, by the place's name.
    """
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.pcapng"
        with Bar(board, csr, at, ["--tlp-log", str(trace)]) as bar:
            names = places(bar.csr)
            for place in names.values():
                for _ in range(READS):
                    bar.client.read(place.bar, place.offset, 4)
        # The trace has a beat of CQ when the hard block shows it, which is a cycle before the card
        # takes it. A beat of CC is in the trace when it is taken. So the difference is one cycle
        # too long.
        taken = [
            completion.latency // limits.CYCLE_NS - 1
            for completion, read in tlp.matched(tlp.load(trace))
            if completion.interface == "CC" and read is not None
        ]
    if len(taken) != READS * len(names):
        raise TestFailed(f"{READS * len(names)} reads had {len(taken)} completions")
    return {name: taken[n * READS : (n + 1) * READS] for n, name in enumerate(names)}


def rows(board: Path, csr: Path, at: Conditions) -> Iterator[Row]:
    """Yield a row for each place that the host reads: its longest read in cycles, with the budget
    as limit."""
    for name, taken in cycles(board, csr, at).items():
        most = MOST[name]
        yield row(
            f"{at.card.prefix}mmio_read_cycles/{name}",
            max(taken),
            "cycles",
            limits.Limit(most, "budget") if most else None,
            lower_is_better=True,
            conditions={**asdict(at), "reads": READS, "least": min(taken)},
        )
