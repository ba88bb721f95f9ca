# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Rows of the benchmark table, each with measured value, limit and ratio.

Rows are merged by id into build/results.json, and printed as a table. A row without a value stays
in the table, and its `reason` says why it has no value. In a row with a value `reason` may say how
to understand the value."""

from __future__ import annotations

import json
import os
import subprocess
import textwrap
from dataclasses import asdict, dataclass, field
from pathlib import Path

from sim.rows.limits import Limit

SCHEMA = 1
ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "build" / "results.json"
# A ratio of value to limit up to this is within the limit, since a window of time may hold a TLP or
# two more.
ROUNDING = 1.0005
BUDGETS = ("budget", "250 MHz")
# Prefixes of the ids of rows that may differ from run to run. The time of such a row begins or ends
# with a client's access, or depends on the machine's own speed.
BY_CLIENT = (
    "mmio_read/",
    "mmio_write/4",
    "mmio_write/8",
    "latency/",
    "host/",
    "capture/insn/",
    "capture/syscalls",
    "record/",
    "card/flash/",
    "sim/",
)


COLUMNS = 80
HEAD = ("", "measured", "unit", "limit", "reached", "binds", "broken", "vs stock")
# Titles of the columns of the benchmark table that are aligned to the right.
NUMBERS = {"measured", "limit", "reached", "broken", "vs stock"}
FIXED = 2  # The number of columns on the left of the table that are never left out.
LOST_FRAMES = "frames lost"  # The unit of rows that count lost frames.
# Units of rows that are times. The limit of a time is its smallest possible value.
TIMES = ("ns", "us", "s", "cycles")


@dataclass
class Row:
    """A measured row of the benchmark table.

    `ratio` is value / limit, or limit / value if `lower_is_better`."""

    id: str
    value: float | None
    unit: str
    limit: float | None = None
    binds: str | None = None
    ratio: float | None = None
    # The row's value divided by that of LitePCIe or fio, if the same run has measured that.
    vs: float | None = None
    p99: float | None = None
    violations: int | None = None
    bytes: int | None = None
    cycles: int | None = None
    reason: str | None = None
    histogram: list[dict] | None = None  # the bins of a histogram: {"from_ns", "to_ns", "count"}
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
    """Return a new benchmark row with its ratio computed. `more` has further fields of Row."""
    result = Row(id, value, unit, commit=commit(), **more)
    if limit is not None:
        result.limit, result.binds = limit.value, limit.binds
        if value:
            result.ratio = limit.value / value if lower_is_better else value / limit.value
    return result


def by_client(name: str) -> bool:
    """Return whether the value of the row with this id may differ from run to run.

    The prefixes in BY_CLIENT decide it."""
    return name.removeprefix("stock/").startswith(BY_CLIENT)


def beyond(rows: list[Row]) -> list[Row]:
    """Return the rows whose value is better than their limit by more than rounding (a ratio above
    ROUNDING).

    In such a row the measurement or the limit is wrong. Rows with a budget are left out, since a
    value may be better than its budget.
    """
    return [entry for entry in rows if (entry.ratio or 0) > ROUNDING and entry.binds not in BUDGETS]


def broken(rows: list[Row]) -> list[Row]:
    """Return the rows of Lanebox's endpoint in which the card broke a rule of the hard block.

    The rule rc-backpressure, which never fails a run, counts too. Rows of LitePCIe's endpoint are
    left out: it is known to break rules, and its rows say how often.
    """
    return [entry for entry in rows if entry.violations and not entry.id.startswith("stock/")]


def lossy(rows: list[Row]) -> list[Row]:
    """Return the rows that have lost frames, where none may be lost.

    A row whose conditions have `overfilled` has a host that takes nothing for so long that frames
    must be lost.
    """
    return [
        entry
        for entry in rows
        if entry.unit == LOST_FRAMES and entry.value and not entry.conditions.get("overfilled")
    ]


def commit() -> str:
    """Return the commit of git that is measured, or "unknown".

    A `+` is appended if the tree differs from the commit."""
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
    """Write benchmark rows into the results file.

    Rows in the file with other ids stay as they are."""
    known = {entry["id"]: entry for entry in load(path)}
    known.update({entry.id: asdict(entry) for entry in rows})
    document = {"schema": SCHEMA, "results": [known[key] for key in sorted(known)]}
    path.parent.mkdir(parents=True, exist_ok=True)
    staged = path.with_suffix(f".{os.getpid()}")
    staged.write_text(json.dumps(document, indent=2) + "\n")
    staged.replace(path)


def load(path: Path = RESULTS) -> list[dict]:
    """Return the rows in the results file. Return none if the file is missing or has another
    schema."""
    try:
        document = json.loads(path.read_text())
    except (OSError, ValueError):
        return []
    return document["results"] if document.get("schema") == SCHEMA else []


def table(rows: list[Row]) -> str:
    """Return the rows as a table for a terminal of COLUMNS characters.

    The table has the limit that binds and the number of broken rules. A column that would be empty
    is left out. A rate is given as a share of its limit, a time as its distance above its smallest
    possible value. If a row does not fit, its name gets a line of its own."""
    body = [_cells(entry) for entry in rows]
    shown = [i for i in range(len(HEAD)) if i < FIXED or any(cells[i] for cells in body)]
    names = [cells[0] for cells in body]
    widths = [max(len(cells[i]) for cells in [HEAD, *body]) for i in shown]
    rest = sum(width + 2 for width in widths[1:])
    widths[0] = max([len(name) for name in names if len(name) + rest <= COLUMNS], default=0)
    lines = []
    for cells in [HEAD, *body]:
        if len(cells[0]) > widths[0]:
            lines.append(cells[0])
            cells = ("", *cells[1:])
        lines.append(_line([cells[i] for i in shown], widths, shown))
    notes = [_note(f"{entry.id}: {entry.reason}") for entry in rows if entry.reason]
    counted = [entry.violations for entry in rows if entry.violations is not None]
    if counted and not any(counted):
        notes.append(_note("No rule of the hard block was broken."))
    rule = "-" * max(map(len, lines))
    return "\n".join([lines[0], rule, *lines[1:], *([""] if notes else []), *notes])


def _note(text: str) -> str:
    return textwrap.fill(text, COLUMNS, initial_indent="  ", subsequent_indent="    ")


def _cells(entry: Row) -> tuple[str, ...]:
    number = "-" if entry.value is None else _number(entry.value)
    return (
        entry.id,
        number,
        entry.unit,
        "" if entry.limit is None else _number(entry.limit),
        reached(entry.unit, entry.value, entry.limit, entry.ratio),
        entry.binds or "",
        str(entry.violations) if entry.violations else "",
        "" if entry.vs is None else f"{entry.vs:.2f}",
    )


def reached(unit: str, value: float | None, limit: float | None, ratio: float | None) -> str:
    """Return as text how near a row's value came to its limit, or "" if the row lacks a value, a
    limit or a ratio.

    For a rate the text is its share of the limit (such as 0.994), for a time its distance above the
    limit with the unit.
    """
    if ratio is None or value is None or limit is None:
        return ""
    return f"{value - limit:+.3g} {unit}" if unit in TIMES else f"{ratio:.3f}"


def _number(value: float) -> str:
    return (
        f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}" if value < 1 else f"{value:.2f}"
    )


def _line(cells: list[str], widths: list[int], columns: list[int]) -> str:
    return "  ".join(
        cell.rjust(width) if HEAD[column] in NUMBERS else cell.ljust(width)
        for cell, width, column in zip(cells, widths, columns)
    ).rstrip()
