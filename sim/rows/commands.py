# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Rows `slot.commands/*`: how fast the card carries out read commands of the user slot's logic.

The logic is CommandReader, which gives a command of 64 bytes in each cycle in which one is taken.
It counts the reads and the cycles of the card's clock. Where the host takes 600 ns for a read, the
wire binds. Where it takes 4 us, the number of reads in flight binds: the tags.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path

from sim.errors import TestFailed
from sim.rows import limits
from sim.rows.measure import Conditions
from sim.rows.peer import Bar
from sim.rows.results import Row, row

SIZE = 64  # bytes of one read command
COUNT = 50_000  # Reads of a measurement. The first one's round trip is under 1 % of the time.
LATENCIES = (("@0.6us", 600), ("@4us", 4000))
MEMORY, MEMORY_BYTES = 0x1_0000_0000, 1 << 16
SECONDS = 120  # The reads may take this many seconds of wall time.


def rows(board: Path, csr: Path, at: Conditions) -> Iterator[Row]:
    """Yield a row of user logic's read commands for each host read latency, on a new board each."""
    for suffix, latency in LATENCIES:
        yield _row(board, csr, replace(at, read_latency_ns=latency), suffix)


def _row(board: Path, csr: Path, at: Conditions, suffix: str) -> Row:
    cycles, violations = measure(board, csr, at)
    limit = limits.small_h2c(
        SIZE,
        at.completion,
        at.mps,
        at.mrrs,
        at.mean_read_ns,
        tags=at.card.tags,
        straddle=at.card.straddle,
        rcb=at.rcb,
    )
    return row(
        f"slot.commands/{SIZE}{suffix}",
        COUNT * SIZE / (cycles * limits.CYCLE_NS),
        "GB/s",
        limit,
        violations=violations,
        bytes=COUNT * SIZE,
        cycles=cycles,
        conditions=asdict(at),
    )


def measure(board: Path, csr: Path, at: Conditions) -> tuple[int, int]:
    """Let the logic read COUNT times. Return the card's cycles, and how often rules were broken.

    Raises TestFailed if a read fails, or if the reads do not end.
    """
    with Bar(board, csr, at) as bar, ExitStack() as opened:
        fd = os.memfd_create("lanebox-commands")
        opened.callback(os.close, fd)
        os.ftruncate(fd, MEMORY_BYTES)
        bar.client.map(MEMORY, MEMORY_BYTES, fd)
        bar.register64("user_base", MEMORY)
        bar.register("user_size", SIZE)
        bar.register("user_count", COUNT)
        bar.register("user_start", 1)
        # Reads of the card's registers would share the link with the data, so the board's
        # statistics are read instead.
        deadline = time.monotonic() + SECONDS
        while bar.board.stats()["rc"]["payload_bytes"] < COUNT * SIZE:
            if time.monotonic() > deadline:
                break
            time.sleep(0.05)
        if (ended := bar.read_register("user_ended")) < COUNT:
            raise TestFailed(f"{ended} of {COUNT} commands ended within {SECONDS} s")
        if failed := bar.read_register("user_failed"):
            raise TestFailed(f"{failed} of {COUNT} commands failed")
        return bar.read_register("user_cycles"), sum(bar.board.stats()["violations"].values())
