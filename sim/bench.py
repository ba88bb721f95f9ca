# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""make bench: the whole set of benchmarks, without a guest.

Prints a row when it is measured, the table at the end, and merges all rows into build/results.json.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from sim import artefacts, measure, model
from sim.card import Card
from sim.endpoints import DEFAULT, ENDPOINTS
from sim.errors import SimError
from sim.measure import Conditions
from sim.results import RESULTS, Row, merge, row, table

SIZE = "16M"  # compared in each direction, eight times round the ring
SPEED_SECONDS = "5"
IDLE_SECONDS = 2.0
COST_SECONDS = "2"
COST_TURNS = 2


def bench(board: Path, util: Path, seed: int, endpoint: str = DEFAULT) -> Iterator[Row]:
    """Yield the rows of the full set: the model's own, then one board for each MPS."""
    yield from model.rows()
    for mps in (128, 256, 512):
        with Card(board, util, Conditions(endpoint, mps=mps, seed=seed)) as card:
            yield measure.c2h(*_run(card, "dma_test", "--direction", "c2h", "--size", SIZE))
            if mps == 256:
                yield from _at_mps_256(card)
            if mps == 512:
                yield _h2c(card, 512)
    yield rules_cost(board, util, Conditions(endpoint, seed=seed))


def _at_mps_256(card: Card) -> Iterator[Row]:
    for completion in (64, 128, 256):
        yield _h2c(card, completion)
    card.complete_at(0)
    yield from measure.mmio(*_run(card, "mmio_bench"))
    yield from duplex_and_speed(card)
    yield idle(card)


def _h2c(card: Card, completion: int) -> Row:
    card.complete_at(completion)
    return measure.h2c(*_run(card, "dma_test", "--direction", "h2c", "--size", SIZE))


def _run(card: Card, *arguments: str) -> tuple[dict, Conditions, int]:
    report, violations = card.run(*arguments)
    return report, card.at, violations


def duplex_and_speed(card: Card) -> Iterator[Row]:
    """Both directions for a while: their rate in device time, and the simulation's own speed."""
    report, violations = card.run("dma_test", "--direction", "both", "--duration", SPEED_SECONDS)
    stats = card.board.stats()
    yield measure.duplex(report, card.at, violations)
    yield row(
        "sim/speed",
        stats["cycles"] / stats["cpu_seconds"],
        "cycles/s",
        cycles=stats["cycles"],
        conditions={"cpu_seconds": stats["cpu_seconds"], "workload": "duplex, data compared"},
    )


def rules_cost(board: Path, util: Path, at: Conditions) -> Row:
    """Speed with every rule checked and counted, as a share of the speed with none, in turns."""
    cycles, seconds = {"off": 0, "warn": 0}, {"off": 0.0, "warn": 0.0}
    for mode in ("off", "warn") * COST_TURNS:
        with Card(board, util, at, ["--rules", mode]) as card:
            card.run("dma_test", "--direction", "both", "--duration", COST_SECONDS)
            stats = card.board.stats()
        cycles[mode] += stats["cycles"]
        seconds[mode] += stats["cpu_seconds"]
    speed = {mode: cycles[mode] / seconds[mode] for mode in cycles}
    conditions = {"cycles_per_second": speed, "workload": "duplex, data compared"}
    ratio = speed["warn"] / speed["off"]
    return row("sim/rules_cost", ratio, "of the speed", conditions=conditions)


def idle(card: Card) -> Row:
    """CPU that the board takes while nothing happens, in percent of a core."""
    before = card.board.cpu_seconds()
    time.sleep(IDLE_SECONDS)
    used = (card.board.cpu_seconds() - before) / IDLE_SECONDS * 100
    return row("sim/idle_cpu", used, "% of a core", conditions={"seconds": IDLE_SECONDS})


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m sim.bench", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--endpoint", choices=sorted(ENDPOINTS), default=DEFAULT)
    parser.add_argument("--seed", type=int, default=1, help="of everything random (1)")
    args = parser.parse_args()
    started = time.monotonic()
    try:
        built = artefacts.build(args.endpoint)
        util = artefacts.utility(built.headers)
        rows = []
        for entry in bench(built.board, util, args.seed, args.endpoint):
            rows.append(entry)
            print(f"[{time.monotonic() - started:5.0f} s] {entry.id}", file=sys.stderr, flush=True)
    except SimError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("bench: interrupted, nothing was recorded", file=sys.stderr)
        return 130
    merge(rows)
    print(table(rows))
    print(f"\nrecorded in {RESULTS.relative_to(artefacts.ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
