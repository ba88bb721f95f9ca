# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Compares the disagreements that a run has found with the table in disagreements.md."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from sim.differential.compare import Disagreement

TABLE = Path(__file__).with_name("disagreements.md")


@dataclass(frozen=True)
class Known:
    """A row of the table in disagreements.md. `*` in one of its columns stands for any text."""

    what: str
    ours: str
    theirs: str
    endpoint: str  # the endpoint whose gateware shows the disagreement, or "both"
    reason: str

    def covers(self, found: Disagreement) -> bool:
        """Return whether this row of disagreements.md explains the disagreement."""
        pairs = ((found.what, self.what), (found.ours, self.ours), (found.theirs, self.theirs))
        # A bracket in the table means itself; fnmatch would take it for a set of characters.
        return all(fnmatchcase(value, pattern.replace("[", "[[]")) for value, pattern in pairs)


def load(endpoint: str | None = None, path: Path = TABLE) -> list[Known]:
    """Return the rows of the table whose first column is code.

    With `endpoint` only the rows are returned that this endpoint shows.
    """
    rows = []
    for line in path.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `") and len(cells) == 5:
            rows.append(Known(*(cell.strip("`") for cell in cells[:3]), *cells[3:]))
    return [row for row in rows if endpoint in (None, row.endpoint) or row.endpoint == "both"]


def judge(found: list[Disagreement], known: list[Known]) -> tuple[list, list]:
    """Return the disagreements that no row of disagreements.md covers, and the rows that cover
    none."""
    unlisted = [one for one in found if not any(row.covers(one) for row in known)]
    gone = [row for row in known if not any(row.covers(one) for one in found)]
    return unlisted, gone
