# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Rows `held/*` and `told/*`: what it costs that the card reports each finished buffer in memory.

In rows `held/*` the same buffers pass twice under the same conditions. In the first run the
descriptor table loops and the card reports nothing. In the second run the stream is held: the card
stops where the host has given it no further buffer. It also writes a record for each finished c2h
buffer, and a status line for each direction. Records and status lines leave on RQ, as the data of
c2h does, so they are subtracted from the bytes of c2h. The largest possible number of status lines
is subtracted, so the rate is never too high.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, replace

from sim.rows import limits
from sim.rows.measure import Conditions
from sim.rows.results import Row, row
from sim.rows.streams import Job

# Pairs of bytes of a buffer and the cycles measured with it. The cycles are as long as a full
# descriptor table of such buffers lasts.
BUFFERS = ((8192, 1 << 15), (65536, 1 << 17))
WAYS = (("c2h",), ("h2c",), ("c2h", "h2c"))
LATENCIES = (("", 600), ("@5us", 5000))
PACKETS = (64, 128, 256)  # sizes in bytes of the small packets that are measured

# The type of a function that runs a job under conditions. It returns the report, the conditions and
# how often the card broke a rule of PCIe.
Measure = Callable[[Conditions, Job], tuple[dict, Conditions, int]]


def rows(measure: Measure, at: Conditions) -> Iterator[Row]:
    """Yield the benchmark rows of c2h, h2c and both together, and then of small packets at full
    rate."""
    for size, window in BUFFERS:
        for ways in WAYS:
            for suffix, latency in LATENCIES:
                job = Job(ways, size, window=window)
                yield _against_loop(measure, job, suffix, replace(at, read_latency_ns=latency))
    for size in PACKETS:
        yield _packets(measure, size, at)


def _against_loop(measure: Measure, job: Job, suffix: str, at: Conditions) -> Row:
    """Return the row that compares a held stream with a looping descriptor table. Its value is the
    held stream's rate divided by that of the looping table.

    If both directions run, the row has the smaller quotient of the two.
    """
    loop, _, _ = measure(at, job)
    held, at, broken = measure(at, replace(job, told=True, held=True))
    rates = {way: [run[way]["gb_per_s"] for run in (loop, held)] for way in job.ways}
    name = f"held/{job.name}/{job.size // 1024}K{suffix}"
    return row(
        at.card.prefix + name,
        min(told / free for free, told in rates.values()),
        "of the loop",
        limits.Limit(1.0, "the loop"),
        violations=broken,
        cycles=held["window"]["cycles"],
        conditions={**asdict(at), "traffic": job.name, "gb_per_s_loop_held": rates},
    )


def _packets(measure: Measure, size: int, at: Conditions) -> Row:
    """Return the row of c2h packets of `size` bytes, each with a buffer of that size and a record.

    The descriptor table loops, so the stream is not held.
    """
    job = Job(("c2h",), size, told=True)
    report, at, broken = measure(at, job)
    found = report["c2h"]
    return row(
        at.card.prefix + f"told/c2h/{size}",
        found["gb_per_s"],
        "GB/s",
        limits.told_c2h(size, at.mps),
        violations=broken,
        bytes=found["window_bytes"],
        cycles=report["window"]["cycles"],
        conditions={**asdict(at), "traffic": "c2h", "compared_bytes": found["compared_bytes"]},
    )
