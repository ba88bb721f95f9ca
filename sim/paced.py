# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Rows `host/paced/*`: what a program in C reaches when its own work takes time.

The board lets a cycle of the card pass for each 4 ns of the program's CPU time, user and system: so
the program is as fast beside the simulated card as beside a real one. If it is too slow the ring
runs dry, and the rate falls.

A simulated card is in slow motion, and the kernel under a program that hardly ever wakes up takes
several times the CPU for the same calls. Where that alone is more than a batch lasts, it is
measured by itself and taken out of the pace; results.json says so.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from sim import limits
from sim.board.process import BoardProcess
from sim.errors import TestFailed
from sim.measure import Conditions
from sim.results import Row, row

PACE = round(1000 / limits.CYCLE_NS)  # cycles in a microsecond, for a program as fast as a real one
BUFFERS = 2560  # of 8 KiB, ten times round the ring
BATCH = 64  # given back together, and from one interrupt to the next: a quarter of the ring
BATCH_US = 71  # at 7.4 GB/s
SIMULATED_BATCH_US = 30_000  # what a board of half a million cycles a second takes for that
WITHIN = 0.01
STRICT, CORRECTED = 2, 4  # runs; whatever else the machine does makes the program's CPU time longer
MOST_SLOWDOWN = 10  # of the kernel, which is believed
ROUNDS = {BATCH_US: 1000, SIMULATED_BATCH_US: 24}
TIMEOUT = 300  # seconds; a run takes ten
WAYS = ("c2h", "h2c")


@dataclass(frozen=True)
class Run:
    """One at so many cycles of the card for each microsecond of the program's CPU time."""

    cycles_per_us: int
    report: dict[str, int]

    @property
    def rate(self) -> float:
        """GB/s from the first payload to the last, by the card's counters."""
        return self.report["bytes"] / (self.report["ticks"] * limits.CYCLE_NS)

    @property
    def cpu_ns(self) -> float:
        """Of the program, for a buffer."""
        return self.report["cpu_ns"] / BUFFERS


def stream(program: Path, board: BoardProcess, way: str, pace: int, copies: int = 0) -> Run:
    """software/user/test/steady.c, which copies each buffer so many times; pace 0: free."""
    board.command(f"set pace client:{pace}" if pace else "set pace 0")
    try:
        report = _report(program, f"sim:{board.socket}", way, BUFFERS, BATCH, copies)
    except TestFailed as failed:
        raise TestFailed(f"{failed}\n{board.tail()}") from failed
    return Run(pace, report)


def slowdown(program: Path) -> float:
    """How much dearer the system calls of a batch are where a batch takes as long as simulated.

    The same calls, without library and board, by software/user/test/kernel_calls.c beside
    `program`, by a process that wakes up once in 30 ms and by one that does every 71 us. Why the
    first takes several times as much CPU is not isolated; sim/README.md has the figures.
    """
    cost = {
        pause: _report(program.with_name("kernel_calls"), pause, rounds)["cpu_ns"]
        for pause, rounds in ROUNDS.items()
    }
    return min(max(1.0, cost[SIMULATED_BATCH_US] / cost[BATCH_US]), MOST_SLOWDOWN)


def attempts(program: Path, board: BoardProcess, way: str) -> tuple[Run, list[Run]]:
    """A run while work takes no time, then others until one keeps up with it.

    First at PACE as it is; where the program is too slow for that, at PACE for what its CPU time
    would be if the kernel were no slower than beside a real card.
    """
    free = stream(program, board, way, 0)
    runs: list[Run] = []
    for corrected in [False] * STRICT + [True] * CORRECTED:
        pace = round(PACE / slowdown(program)) if corrected else PACE
        runs.append(stream(program, board, way, pace))
        if keeps_up(runs[-1], free):
            break
    return free, runs


def keeps_up(run: Run, free: Run) -> bool:
    """Whether the program's work cost the stream nothing."""
    return abs(run.rate / free.rate - 1) <= WITHIN


def _report(program: Path, *arguments: object) -> dict[str, int]:
    command = [str(program), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    if done.returncode:
        raise TestFailed(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return {name: int(number) for name, number in re.findall(r"(\w+) (-?\d+)", done.stdout)}


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
            best = runs[-1] if keeps_up(runs[-1], free) else max(runs, key=lambda run: run.rate)
            strict = best.cycles_per_us == PACE  # nothing was taken out
            yield row(
                f"host/paced/{way}", best.rate, "GB/s", bounds[way],
                violations=sum(board.stats()["violations"].values()),
                bytes=best.report["bytes"], cycles=best.report["ticks"],
                conditions={
                    **asdict(at), "cycles_per_us": best.cycles_per_us,
                    "kernel_slowdown": None if strict else PACE / best.cycles_per_us,
                    "buffers_per_batch": BATCH, "cpu_ns_per_buffer": best.cpu_ns,
                    "unpaced": free.rate,
                    "runs": [[run.cycles_per_us, run.rate / free.rate] for run in runs],
                },
            )  # fmt: skip
