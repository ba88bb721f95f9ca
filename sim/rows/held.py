# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Rows `held/*` and `told/*`: what it costs that the card reports each finished buffer in memory.

The same buffers pass twice under the same conditions. In the first run the descriptor table loops
and the card reports nothing. In the second the stream is held: the card writes a record for each
c2h buffer, and a status line for each direction. Records and lines go the same way as c2h's data,
so they are subtracted from its bytes, the status lines at their largest possible number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, replace

from sim import limits
from sim.measure import Conditions
from sim.results import Row, row
from sim.streams import Job

# Bytes of a buffer, and the measured cycles, for which a full table of such buffers lasts.
BUFFERS = ((8192, 1 << 15), (65536, 1 << 17))
WAYS = (("c2h",), ("h2c",), ("c2h", "h2c"))
LATENCIES = (("", 600), ("@5us", 5000))
PACKETS = (64, 128, 256)  # bytes

# Runs a job under conditions; returns the report, the conditions and how many rules were broken.
Measure = Callable[[Conditions, Job], tuple[dict, Conditions, int]]


def rows(measure: Measure, at: Conditions) -> Iterator[Row]:
    """Each direction and both, then small packets at full rate."""
    for size, window in BUFFERS:
        for ways in WAYS:
            for suffix, latency in LATENCIES:
                job = Job(ways, size, window=window)
                yield _against_loop(measure, job, suffix, replace(at, read_latency_ns=latency))
    for size in PACKETS:
        yield _packets(measure, size, at)


def _against_loop(measure: Measure, job: Job, suffix: str, at: Conditions) -> Row:
    """The held stream's rate as a share of the loop's; with both directions the smaller share."""
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
    """The c2h rate of packets of `size` bytes, each in a buffer of that size and with a record.

    The descriptor table loops: the stream is not held.
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
