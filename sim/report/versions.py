# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Lists the conditions, tool versions and commits of the benchmark rows on the report page."""

from __future__ import annotations

import contextlib
import platform
import subprocess
from html import escape
from importlib import metadata

PACKAGES = ("litex", "litepcie", "migen")
# The conditions of benchmark rows that the report page lists, with their units.
CONDITIONS = {
    "host": "",
    "endpoint": "",
    "user": "",
    "mps": "B",
    "mrrs": "B",
    "rcb": "B",
    "read_latency_ns": "ns",
    "mmio_rtt_ns": "ns",
    "seed": "",
}


def versions() -> dict[str, str]:
    """Return {name: version} of each installed tool, of Python and of the machine's operating
    system."""
    found = {"Python": platform.python_version(), "machine": platform.platform(terse=True)}
    for name in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    with contextlib.suppress(OSError):
        asked = subprocess.run(["verilator", "--version"], capture_output=True, text=True)
        found["Verilator"] = " ".join(asked.stdout.split()[1:2])
    return found


def conditions(rows: list[dict]) -> dict[str, list[str]]:
    """Return {name of a condition: all its values in the benchmark rows as text with unit, the most
    frequent one first}."""
    counts: dict[str, dict[str, int]] = {name: {} for name in CONDITIONS}
    for row in rows:
        for name, of_name in counts.items():
            if row["conditions"].get(name) is not None:
                value = f"{row['conditions'][name]} {CONDITIONS[name]}".strip()
                of_name[value] = of_name.get(value, 0) + 1
    return {name: sorted(c, key=c.get, reverse=True) for name, c in counts.items() if c}


def commits(rows: list[dict]) -> dict[str, int]:
    """Return {commit: number of benchmark rows that were measured at it}, with the largest number
    first."""
    counts: dict[str, int] = {}
    for row in rows:
        counts[row["commit"] or "unknown"] = counts.get(row["commit"] or "unknown", 0) + 1
    return dict(sorted(counts.items(), key=lambda entry: -entry[1]))


def section(rows: list[dict]) -> str:
    """Return HTML with three lists: conditions, tool versions and commits."""
    used = {name.replace("_", " "): ", ".join(v) for name, v in conditions(rows).items()}
    made = {commit: f"{count} rows" for commit, count in commits(rows).items()}
    return (
        '<div class="lists">'
        + _list("Conditions of the rows", used)
        + _list("Made with", versions())
        + _list("Measured at commit", made)
        + "</div>"
    )


def _list(title: str, entries: dict[str, str]) -> str:
    body = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in entries.items())
    return f"<section><h3>{escape(title)}</h3><dl>{body}</dl></section>"
