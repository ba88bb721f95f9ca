# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Rows `host/paced/*`: what a program in C reaches when its own work takes time.

The board lets a cycle of the card pass for each 4 ns of the program's CPU time, user and system: so
the program is as fast beside the simulated card as beside a real one. If it is too slow the ring
runs dry, and the rate falls.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from sim import limits
from sim.board.process import BoardProcess
from sim.errors import TestFailed
from sim.measure import Conditions
from sim.results import Row, row

PACE = round(1000 / limits.CYCLE_NS)  # cycles in a microsecond
BUFFERS = 2560  # of 8 KiB, ten times round the ring
BATCH = 64  # given back together, and from one interrupt to the next: a quarter of the ring
ATTEMPTS = 3  # whatever else runs on the machine makes the program's CPU time longer
WITHIN = 0.01
TIMEOUT = 300  # seconds; a run takes ten
WAYS = ("c2h", "h2c")


def stream(
    program: Path, board: BoardProcess, way: str, buffers: int = BUFFERS, copies: int = 0
) -> dict[str, int]:
    """software/user/test/steady.c, which copies each buffer so many times; returns its report."""
    command = [str(program), f"sim:{board.socket}", way, *map(str, (buffers, BATCH, copies))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    if done.returncode:
        raise TestFailed(f"{way} at --pace: {done.stdout}{done.stderr}\n{board.tail()}")
    return {name: int(number) for name, number in re.findall(r"(\w+) (-?\d+)", done.stdout)}


def rate(report: dict[str, int]) -> float:
    """GB/s from the first payload to the last, by the card's counters."""
    return report["bytes"] / (report["ticks"] * limits.CYCLE_NS)


def attempts(program: Path, board: BoardProcess, way: str) -> tuple[float, list[dict[str, int]]]:
    """The rate while work takes no time, then runs at PACE until one keeps up, or ATTEMPTS."""
    board.command("set pace 0")
    free = rate(stream(program, board, way))
    board.command(f"set pace client:{PACE}")
    runs = []
    while len(runs) < ATTEMPTS and not (runs and keeps_up(rate(runs[-1]), free)):
        runs.append(stream(program, board, way))
    return free, runs


def keeps_up(paced: float, free: float) -> bool:
    """Whether the program's work cost the stream nothing."""
    return abs(paced / free - 1) <= WITHIN


def rows(executable: Path, program: Path, at: Conditions) -> Iterator[Row]:
    """Both directions, beside the limit that the card's own rows have."""
    bounds = {
        "c2h": limits.c2h(at.mps, at.mps),
        "h2c": limits.h2c(
            at.completion, at.mps, at.card.tags, at.mrrs, at.read_latency_ns,
            straddle=at.card.straddle, rcb=at.rcb,
        ),
    }  # fmt: skip
    with BoardProcess(executable, at.board_options()) as board:
        for way in WAYS:
            board.command("clear")
            free, runs = attempts(program, board, way)
            best = max(runs, key=rate)
            yield row(
                f"host/paced/{way}", rate(best), "GB/s", bounds[way],
                violations=sum(board.stats()["violations"].values()),
                bytes=best["bytes"], cycles=best["ticks"],
                conditions={
                    **asdict(at), "cycles_per_us": PACE, "buffers_per_batch": BATCH,
                    "unpaced": free, "of_unpaced": [rate(run) / free for run in runs],
                    "cpu_ns_per_buffer": best["cpu_ns"] / BUFFERS,
                },
            )  # fmt: skip
