# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Rows of measured, limit and ratio: merged by id into build/results.json, printed as a table.

A row without a value keeps its place and says why; nothing is left out silently. A row with one
may say under `reason` how to read it.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import asdict, dataclass, field
from pathlib import Path

from sim.limits import Limit

SCHEMA = 1
ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "build" / "results.json"
ROUNDING = 1.0005  # the ends of a window, a TLP or two more in it
BUDGETS = ("budget", "250 MHz")
# What the ids of rows begin with whose span begins or ends with a client's access, or that are a
# matter of the machine's own time. Only they may differ from run to run, or on a busy machine.
BY_CLIENT = ("mmio_read/", "mmio_write/4", "mmio_write/8", "latency/", "host/", "sim/")


@dataclass
class Row:
    """One result. `ratio` is value/limit, or limit/value where `lower_is_better`."""

    id: str
    value: float | None
    unit: str
    limit: float | None = None
    binds: str | None = None
    ratio: float | None = None
    vs: float | None = None  # ours / peer, where a peer was measured in the same run
    p99: float | None = None
    violations: int | None = None
    bytes: int | None = None
    cycles: int | None = None
    reason: str | None = None
    histogram: list[dict] | None = None  # of {"from_ns", "to_ns", "count"}
    conditions: dict = field(default_factory=dict)
    commit: str | None = None


def row(
    id: str,
    value: float | None,
    unit: str,
    limit: Limit | None = None,
    lower_is_better: bool = False,
    **more,
) -> Row:
    """A row with its ratio computed; `more` are further fields of Row."""
    result = Row(id, value, unit, commit=commit(), **more)
    if limit is not None:
        result.limit, result.binds = limit.value, limit.binds
        if value:
            result.ratio = limit.value / value if lower_is_better else value / limit.value
    return result


def by_client(name: str) -> bool:
    """Whether the row's value may differ from run to run: see BY_CLIENT."""
    return name.removeprefix("stock/").startswith(BY_CLIENT)


def beyond(rows: list[Row]) -> list[Row]:
    """Rows that are better than anything can be: the measurement is wrong there, or the limit.

    What a budget is kept by is no limit of nature.
    """
    return [entry for entry in rows if (entry.ratio or 0) > ROUNDING and entry.binds not in BUDGETS]


def commit() -> str:
    """What is measured: the commit, with `+` when the tree differs from it."""
    git = ["git", "-C", str(ROOT)]
    try:
        head = subprocess.run(
            [*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True
        )
        changed = subprocess.run([*git, "diff", "--quiet", "HEAD"], capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head.stdout.strip() + ("+" if changed.returncode else "")


def merge(rows: list[Row], path: Path = RESULTS) -> None:
    """Write `rows` into the results file; rows with other ids stay as they are."""
    known = {entry["id"]: entry for entry in load(path)}
    known.update({entry.id: asdict(entry) for entry in rows})
    document = {"schema": SCHEMA, "results": [known[key] for key in sorted(known)]}
    path.parent.mkdir(parents=True, exist_ok=True)
    staged = path.with_suffix(f".{os.getpid()}")
    staged.write_text(json.dumps(document, indent=2) + "\n")
    staged.replace(path)


def load(path: Path = RESULTS) -> list[dict]:
    """The rows on file; none when there is no file of this schema."""
    try:
        document = json.loads(path.read_text())
    except (OSError, ValueError):
        return []
    return document["results"] if document.get("schema") == SCHEMA else []


def table(rows: list[Row]) -> str:
    """The rows for a terminal, with what binds and what was broken."""
    head = ("", "measured", "limit", "", "ratio", "binds", "rules broken", "vs stock")
    body = [_cells(entry) for entry in rows]
    widths = [max(len(cells[i]) for cells in [head, *body]) for i in range(len(head))]
    lines = [_line(cells, widths) for cells in [head, *body]]
    notes = [f"  {entry.id}: {entry.reason}" for entry in rows if entry.reason]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:], *([""] if notes else []), *notes])


def _cells(entry: Row) -> tuple[str, ...]:
    number = "-" if entry.value is None else _number(entry.value)
    return (
        entry.id,
        number,
        "" if entry.limit is None else _number(entry.limit),
        entry.unit,
        "" if entry.ratio is None else f"{entry.ratio:.3f}",
        entry.binds or "",
        "" if entry.violations is None else str(entry.violations),
        "" if entry.vs is None else f"{entry.vs:.2f}",
    )


def _number(value: float) -> str:
    return (
        f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}" if value < 1 else f"{value:.2f}"
    )


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    right = {1, 2, 4, 6}  # numbers
    return "  ".join(
        cell.rjust(width) if i in right else cell.ljust(width)
        for i, (cell, width) in enumerate(zip(cells, widths))
    ).rstrip()
