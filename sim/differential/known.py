# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The table of disagreements.md, against what a run has found."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from sim.differential.compare import Disagreement

TABLE = Path(__file__).with_name("disagreements.md")


@dataclass(frozen=True)
class Known:
    """A row; `*` in it stands for anything."""

    what: str
    ours: str
    theirs: str
    endpoint: str  # whose gateware it takes to see it, or "both"
    reason: str

    def covers(self, found: Disagreement) -> bool:
        pairs = ((found.what, self.what), (found.ours, self.ours), (found.theirs, self.theirs))
        # Brackets are brackets here, not a choice of characters.
        return all(fnmatchcase(value, pattern.replace("[", "[[]")) for value, pattern in pairs)


def load(endpoint: str | None = None, path: Path = TABLE) -> list[Known]:
    """The rows of the table, whose first three columns are code: all, or those of one endpoint."""
    rows = []
    for line in path.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `") and len(cells) == 5:
            rows.append(Known(*(cell.strip("`") for cell in cells[:3]), *cells[3:]))
    return [row for row in rows if endpoint in (None, row.endpoint) or row.endpoint == "both"]


def judge(found: list[Disagreement], known: list[Known]) -> tuple[list, list]:
    """Disagreements that no row covers, and rows that cover nothing."""
    unlisted = [one for one in found if not any(row.covers(one) for row in known)]
    gone = [row for row in known if not any(row.covers(one) for one in found)]
    return unlisted, gone
