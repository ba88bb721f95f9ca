# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Writes a summary of a trace: TLPs, payload and times by interface and kind, read latencies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TextIO

from sim.trace.tlp import Read, Tlp, matched


@dataclass
class Tally:
    """Counts the TLPs of one kind on one interface: number, payload bytes, first and last time in
    ns."""

    first: int
    last: int = 0
    tlps: int = 0
    payload: int = 0

    def add(self, tlp: Tlp) -> None:
        """Add one TLP and its payload bytes to the counts."""
        self.last = tlp.ns
        self.tlps += 1
        self.payload += len(tlp.payload)


def write(tlps: Iterable[Tlp], out: TextIO) -> None:
    """Write the table of TLPs, the latencies of reads by card and host, and the count of errors."""
    tallies: dict[tuple[str, str], Tally] = {}
    reads: dict[str, list[Read]] = {"card": [], "host": []}
    refused = poisoned = unasked = 0
    for tlp, read in matched(tlps):
        tallies.setdefault((tlp.interface, tlp.kind), Tally(tlp.ns)).add(tlp)
        refused += tlp.status != 0
        poisoned += tlp.poisoned
        unasked += tlp.is_completion and read is None
        if read is not None and tlp is read.request:
            reads[tlp.side].append(read)
    _write_tallies(tallies, out)
    for side, of_side in reads.items():
        _write_reads(side, of_side, out)
    out.write(
        f"\ncompletions that refuse: {refused}, that nothing asked for: {unasked}; "
        f"poisoned TLPs: {poisoned}\n"
    )


def _write_tallies(tallies: dict[tuple[str, str], Tally], out: TextIO) -> None:
    out.write(f"{'':12}{'TLPs':>12}{'payload B':>16}{'from ns':>16}{'to ns':>16}\n")
    for (interface, kind), tally in sorted(tallies.items()):
        out.write(
            f"{interface + ' ' + kind:12}{tally.tlps:12,}{tally.payload:16,}"
            f"{tally.first:16,}{tally.last:16,}\n"
        )


def _write_reads(side: str, reads: list[Read], out: TextIO) -> None:
    """Write the times in ns from one side's read requests to their first and last completion."""
    ended = [read for read in reads if read.done]
    if not reads:
        return
    out.write(f"\nreads by the {side}: {len(reads):,}, of which {len(ended):,} ended\n")
    for what, index in (("first", 0), ("last", -1)):
        times = sorted(read.completions[index].latency or 0 for read in ended)
        if not times:
            continue
        marks = [
            (name, times[int(share * (len(times) - 1))])
            for name, share in (("least", 0), ("median", 0.5), ("99 %", 0.99), ("most", 1))
        ]
        line = "".join(f"{name:>8} {value:,}" for name, value in marks)
        out.write(f"    to the {what:5} completion, ns:{line}\n")
